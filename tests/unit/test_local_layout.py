import json
import socket
import subprocess
from pathlib import Path

import pytest

from injector.clock import FastClock, SystemClock
from injector.errors import Misused
from injector.local.layout import LocalRun
from injector.local.origin import keep_origin, origin_of
from injector.local.owner import owned
from injector.local.up import GROUPS_FILE, prepare, ready, started
from tests.waiting import free_port


def a_run(folder: Path, **changes: object) -> LocalRun:
    ports = {"service_port": 0, "emulator_port": 0, "control_port": 0, "target_port": 0}
    fields = {"folder": folder, "groups": folder / GROUPS_FILE, "origin": 5.0, **ports, **changes}
    return LocalRun(**fields)  # type: ignore[arg-type]


def test_all_programs_of_a_run_share_its_clock(tmp_path: Path) -> None:
    run = a_run(tmp_path, speed=20.0)
    emulator, service = (p for p in run.programs() if p.name in {"emulator", "service"})
    assert run.clock == FastClock(20.0, 5.0)
    assert emulator.command[-8:-4] == ("--speed", "20.0", "--origin", "5.0")
    assert service.env["INJECTOR_CLOCK_SPEED"] == "20.0"
    assert service.env["INJECTOR_CLOCK_ORIGIN"] == "5.0"


def test_a_run_meets_the_curves_that_production_has(tmp_path: Path) -> None:
    (emulator,) = (p for p in a_run(tmp_path).programs() if p.name == "emulator")
    assert emulator.command[emulator.command.index("--dynamics") + 1] == "faithful"


@pytest.mark.parametrize(("speed", "deadline"), [(0.5, "120.0"), (5.0, "600.0"), (30.0, "1800.0")])
def test_a_fan_out_has_as_much_of_this_machines_time_by_a_fast_clock(
    tmp_path: Path, speed: float, deadline: str
) -> None:
    (service,) = (p for p in a_run(tmp_path, speed=speed).programs() if p.name == "service")
    assert service.env["INJECTOR_DISPATCH_DEADLINE_S"] == deadline


def test_a_run_at_speed_one_keeps_the_machines_time(tmp_path: Path) -> None:
    assert a_run(tmp_path).clock == SystemClock()


@pytest.mark.parametrize(
    ("port", "told", "environment"),
    [
        (29090, ", the target's count at http://127.0.0.1:29090/tally", "http://127.0.0.1:29090"),
        (None, "", None),
    ],
)
def test_a_run_that_is_ready_says_where_its_target_and_the_control_port_are(
    tmp_path: Path, port: int | None, told: str, environment: str | None
) -> None:
    run = a_run(tmp_path, service_port=28080, control_port=28124, target_port=port)
    assert ready(run) == (
        f"ready: the dashboard is at http://127.0.0.1:28080{told}, "
        "the emulator's control at http://127.0.0.1:28124"
    )
    assert run.environment.get("INJECTOR_TARGET_URL") == environment


def test_a_run_may_have_no_target(tmp_path: Path) -> None:
    names = [program.name for program in a_run(tmp_path, target_port=None).programs()]
    assert names == ["emulator", "service"]


def test_a_new_folder_gets_a_group_to_start_with(tmp_path: Path) -> None:
    queues = prepare(a_run(tmp_path / "new")).queues
    assert [queue.partition("={")[0].rsplit("/", 1)[-1] for queue in queues] == [
        "local-injector",
        "local-00",
        "local-01",
        "local-02",
        "local-03",
    ]


def test_groups_that_were_edited_are_kept(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    prepare(run)
    run.groups.write_text(run.groups.read_text().replace("local-[00-03]", "mine"))
    assert prepare(run).queues[-1].endswith("/mine")


def test_a_missing_groups_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(Misused, match=r"nowhere\.yaml: No such file"):
        prepare(a_run(tmp_path, groups=tmp_path / "nowhere.yaml"))


@pytest.mark.parametrize("written", [b"\xff", b"", b"groups: 1\n"])
def test_groups_that_cannot_be_read_are_refused(tmp_path: Path, written: bytes) -> None:
    (tmp_path / "g.yaml").write_bytes(written)
    with pytest.raises(Misused, match=r"g\.yaml"):
        prepare(a_run(tmp_path, groups=tmp_path / "g.yaml"))


def test_one_port_for_two_programs_is_refused_before_anything_starts(tmp_path: Path) -> None:
    port = free_port()
    with pytest.raises(Misused, match=f"port {port} is given to the service and the target"):
        prepare(a_run(tmp_path, service_port=port, target_port=port))


def test_a_taken_port_is_named_before_anything_starts(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(Misused, match=f"port {port} for the service is taken"):
            prepare(a_run(tmp_path, service_port=port))


def test_a_folder_started_again_goes_on_in_time(tmp_path: Path) -> None:
    assert origin_of(tmp_path / "run", speed=10.0, now=100.0) == 100.0
    keep_origin(tmp_path / "run", speed=10.0, origin=100.0)
    assert origin_of(tmp_path / "run", speed=10.0, now=200.0) == 100.0


def test_a_second_run_on_a_folder_leaves_the_clock_of_the_first(tmp_path: Path) -> None:
    keep_origin(tmp_path, speed=30.0, origin=100.0)
    second = a_run(tmp_path, speed=5.0, origin=origin_of(tmp_path, speed=5.0, now=200.0))
    refused = pytest.raises(Misused, match="another")
    with owned(tmp_path), refused, started(second, announce=print, within_s=0):
        pass
    assert origin_of(tmp_path, speed=30.0, now=300.0) == 100.0


def test_a_run_that_owns_its_folder_keeps_its_clock(tmp_path: Path) -> None:
    prepare(a_run(tmp_path, speed=20.0, origin=7.0))
    assert origin_of(tmp_path, speed=20.0, now=300.0) == 7.0


@pytest.mark.parametrize(
    "written", ["junk", "", "[]", '{"speed": 10.0}', '{"speed": 10.0, "origin": "x"}', "\xff"]
)
def test_a_clock_that_cannot_be_read_is_refused_by_its_name(tmp_path: Path, written: str) -> None:
    (tmp_path / "clock.json").write_text(written, encoding="latin-1")
    with pytest.raises(Misused, match=r"clock\.json: is not a clock of injector up"):
        origin_of(tmp_path, speed=10.0, now=100.0)


def test_a_clock_with_another_speed_begins_anew(tmp_path: Path) -> None:
    keep_origin(tmp_path, speed=10.0, origin=100.0)
    begun = origin_of(tmp_path, speed=5.0, now=200.0)
    assert begun == 200.0
    prepare(a_run(tmp_path, speed=5.0, origin=begun))
    assert json.loads((tmp_path / "clock.json").read_text())["origin"] == 200.0


def test_a_ledger_that_is_none_is_told_before_anything_starts(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_text("shopping list")
    with pytest.raises(Misused, match=r"ledger\.db is not a SQLite database"):
        prepare(a_run(tmp_path))


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Misused, match="cannot be used: Not a directory; give --folder"):
        owned(tmp_path / "file" / "run").__enter__()


def test_a_shell_finds_the_run_by_its_env_file(tmp_path: Path) -> None:
    run = a_run(tmp_path / "a folder")
    prepare(run)
    asked = ["sh", "-c", '. "$1" && printenv INJECTOR_GROUPS', "sh", str(run.folder / "env")]
    assert subprocess.check_output(asked, text=True).strip() == str(run.groups)
