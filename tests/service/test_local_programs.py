import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from injector.errors import Misused
from injector.local.programs import Program, Programs


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def web(tmp_path: Path) -> Program:
    port = free_port()
    return Program(
        name="web",
        command=(sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)),
        log=tmp_path / "web.log",
        ready_url=f"http://127.0.0.1:{port}/",
    )


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def programs(said: list[str]) -> Iterator[Programs]:
    with Programs(said.append) as running:
        yield running


def test_a_program_is_ready_when_start_returns(programs: Programs, web: Program) -> None:
    programs.start(web)
    assert requests.get(web.ready_url, timeout=5).ok


def test_a_killed_program_is_started_again(
    programs: Programs, web: Program, said: list[str]
) -> None:
    programs.start(web)
    first = programs.pids()["web"]
    os.kill(first, signal.SIGKILL)
    os.waitid(os.P_PID, first, os.WEXITED | os.WNOWAIT)
    programs.revive()
    assert programs.pids()["web"] != first
    assert said == ["web ended with -9; starting it again"]
    assert requests.get(web.ready_url, timeout=5).ok


def test_a_living_program_is_left_alone(programs: Programs, web: Program) -> None:
    programs.start(web)
    first = programs.pids()
    programs.revive()
    assert programs.pids() == first


def test_stop_ends_every_program(programs: Programs, web: Program) -> None:
    programs.start(web)
    programs.stop()
    with pytest.raises(requests.ConnectionError):
        requests.get(web.ready_url, timeout=5)


def test_a_program_that_cannot_start_says_why(programs: Programs, tmp_path: Path) -> None:
    broken = Program(
        name="service",
        command=(sys.executable, "-c", "raise SystemExit('no ledger here')"),
        log=tmp_path / "service.log",
        ready_url=f"http://127.0.0.1:{free_port()}/",
    )
    with pytest.raises(Misused, match="service did not start; it said: no ledger here"):
        programs.start(broken)


def test_a_program_is_given_its_environment(programs: Programs, tmp_path: Path) -> None:
    port = free_port()
    serve = (
        "import http.server, os, pathlib; "
        f"pathlib.Path({str(tmp_path / 'seen')!r}).write_text(os.environ['COLOUR']); "
        f"http.server.HTTPServer(('127.0.0.1', {port}),"
        " http.server.SimpleHTTPRequestHandler).serve_forever()"
    )
    programs.start(
        Program(
            name="painter",
            command=(sys.executable, "-c", serve),
            log=tmp_path / "painter.log",
            ready_url=f"http://127.0.0.1:{port}/",
            env={"COLOUR": "green"},
        )
    )
    assert (tmp_path / "seen").read_text() == "green"
