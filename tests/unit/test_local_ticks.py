"""What `injector up` says of a tick that failed."""

import socket
import threading
from contextlib import closing

import pytest

from injector.clock import SystemClock
from injector.local.ticks import Ticks

FULL = b'{"detail": "the ledger cannot grow, the disk is full"}'


def said_of(answer: bytes) -> list[str]:
    """Tick once against a service that gives this answer, and return what is announced."""
    said: list[str] = []
    with closing(socket.create_server(("127.0.0.1", 0))) as server:

        def serve() -> None:
            caller, _ = server.accept()
            with caller:
                caller.recv(65536)
                caller.sendall(answer)

        serving = threading.Thread(target=serve)
        serving.start()
        Ticks(f"http://127.0.0.1:{server.getsockname()[1]}", SystemClock(), said.append).tick()
        serving.join()
    return said


@pytest.mark.parametrize(
    ("status", "body", "reason"),
    [
        (b"400 Bad Request", FULL, "the ledger cannot grow, the disk is full"),
        (b"502 Bad Gateway", b"<html>", "502 Bad Gateway"),
        (b"500 Oh", b"[]", "500 Oh"),
    ],
)
def test_a_tick_that_failed_is_told_with_the_services_reason(
    status: bytes, body: bytes, reason: str
) -> None:
    head = b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % (status, len(body))
    assert said_of(head + body) == [f"a tick failed, the next one follows: {reason}"]


def test_of_a_tick_that_went_well_nothing_is_said() -> None:
    assert said_of(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}") == []
