"""What tests wait for, and ports for what they start."""

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import requests
import tenacity

Found = TypeVar("Found")
PATIENCE_S = 90.0  # the machine may be busy
PORTS = range(20_001, 32_768)


def until(condition: Callable[[], Found], *, what: str = "", within_s: float = PATIENCE_S) -> Found:
    """Wait until something holds, and return it."""
    polls = tenacity.Retrying(
        stop=tenacity.stop_after_delay(within_s),
        wait=tenacity.wait_fixed(0.02),
        retry=tenacity.retry_if_result(lambda found: not found),
        retry_error_callback=lambda last: last.outcome.result(),
    )
    found = polls(condition)
    assert found, f"not within {within_s:.0f} s: {what or condition}"
    return found


def free_port() -> int:
    """Return a port for a server to come.

    The system takes ports from 32768 on for calls and for servers that leave the choice to it,
    so that one from there may be gone again before the server has it.
    """
    while True:
        port = secrets.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("", port))
            return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def answers(url: str) -> bool:
    try:
        return requests.get(url, timeout=5).ok
    except requests.RequestException:
        return False
