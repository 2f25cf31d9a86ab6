import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler

import pytest

from injector.errors import NotFound, Retryable
from injector.staging import Source, stage
from tests.contracts.fake_bucket import Server
from tests.moving_clock import MovingClock
from tests.stagings import PLAIN
from tests.waiting import free_port

ROWS = b"".join(b'{"id":%d}\n' % number for number in range(600_000))


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site(tmp_path):
    """The folder's files over HTTP, from a server that does not know ranges."""
    server = Server(("127.0.0.1", 0), partial(QuietHandler, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_a_file_is_read_over_http_though_the_server_knows_no_ranges(site, tmp_path):
    (tmp_path / "r.jsonl").write_bytes(ROWS)

    staged = stage(
        Source(f"{site}/r.jsonl?signature=x.y"), PLAIN, str(tmp_path / "s"), clock=MovingClock()
    )

    assert (staged.records, staged.rejected) == (600_000, 0)


def test_a_url_that_leads_nowhere_is_not_found(site, tmp_path):
    with pytest.raises(NotFound, match="no such file"):
        stage(Source(f"{site}/r.jsonl"), PLAIN, str(tmp_path / "s"), clock=MovingClock())


def test_a_server_that_is_away_is_not_taken_for_a_missing_file(tmp_path):
    url = f"http://127.0.0.1:{free_port()}/r.jsonl"
    with pytest.raises(Retryable, match="Cannot connect"):
        stage(Source(url), PLAIN, str(tmp_path / "s"), clock=MovingClock())
