import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from injector.local.target import Tally, TargetServer
from tests.waiting import PATIENCE_S


@pytest.fixture
def url() -> Iterator[str]:
    with TargetServer(0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_target_tells_what_came_and_what_came_twice(url: str) -> None:
    for record in ("EDDF", "EDDH", "EDDF"):
        assert requests.post(f"{url}/airports/{record}", data=b"{}", timeout=PATIENCE_S).ok
    tally = requests.get(f"{url}/tally", timeout=PATIENCE_S).json()
    assert tally == {"received": 3, "distinct": 2, "doubled": ["airports/EDDF"]}
    assert requests.get(f"{url}/deliveries", timeout=PATIENCE_S).json() == {
        "airports/EDDF": 2,
        "airports/EDDH": 1,
    }


def test_a_target_reads_the_record_from_an_escaped_path(url: str) -> None:
    requests.post(f"{url}/t/a%2Fb%20c?x=1", timeout=PATIENCE_S)
    assert requests.get(f"{url}/deliveries", timeout=PATIENCE_S).json() == {"t/a/b c": 1}


def test_records_of_one_name_in_different_folders_are_told_apart(url: str) -> None:
    for folder in ("eu", "us"):
        requests.post(f"{url}/{folder}/users/1", timeout=PATIENCE_S)
    assert requests.get(f"{url}/tally", timeout=PATIENCE_S).json()["doubled"] == []
    assert requests.get(f"{url}/deliveries", timeout=PATIENCE_S).json() == {
        "eu/users/1": 1,
        "us/users/1": 1,
    }


def test_a_target_that_is_started_again_goes_on_counting(tmp_path: Path) -> None:
    log = tmp_path / "deliveries.log"
    before = Tally(log)
    before.add("a/b c\n", "task-1")
    before.add("EDDF", "task-2", "0", "1800000000.5")
    before.close()
    again = Tally(log)
    again.add("EDDF", "task-2", "1", "1800000001.5")
    again.close()
    assert again.deliveries() == {"a/b c\n": 1, "EDDF": 2}
    assert log.read_text().splitlines()[-1] == "EDDF\ttask-2\t1\t1800000001.5"
