import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from injector.errors import Misused
from injector.local.owner import owned
from injector.local.programs import FAILED_STARTS, Program, Programs
from tests.waiting import PATIENCE_S, free_port, listens, until


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
    assert requests.get(web.ready_url, timeout=PATIENCE_S).ok


def test_a_killed_program_is_started_again(
    programs: Programs, web: Program, said: list[str]
) -> None:
    programs.start(web)
    first = programs.pids()["web"]
    kill(programs)
    programs.revive()
    assert programs.pids()["web"] != first
    assert said == ["web ended with -9; starting it again"]
    assert requests.get(web.ready_url, timeout=PATIENCE_S).ok


def test_a_living_program_is_left_alone(programs: Programs, web: Program) -> None:
    programs.start(web)
    first = programs.pids()
    programs.revive()
    assert programs.pids() == first


def test_stop_ends_every_program(programs: Programs, web: Program) -> None:
    programs.start(web)
    programs.stop()
    with pytest.raises(requests.ConnectionError):
        requests.get(web.ready_url, timeout=PATIENCE_S)


def test_a_program_that_cannot_start_says_why(programs: Programs, tmp_path: Path) -> None:
    broken = Program(
        name="service",
        command=(sys.executable, "-c", "raise SystemExit('no ledger here')"),
        log=tmp_path / "service.log",
        ready_url=f"http://127.0.0.1:{free_port()}/",
    )
    with pytest.raises(Misused, match=r"service did not start.*\nno ledger here"):
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


STARTER = """
import sys
from pathlib import Path
from injector.local.owner import owned
from injector.local.programs import Program, Programs

folder, port = Path(sys.argv[1]), sys.argv[2]
serve = (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", port)
with owned(folder) as lock, Programs(print, held=(lock,)) as programs:
    programs.start(Program("web", serve, folder / "log", f"http://127.0.0.1:{port}/"))
    print("started", flush=True)
    sys.stdin.read()
"""


def children(pid: int) -> set[int]:
    return {int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


@contextmanager
def starter(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that has started a web server, and waits."""
    command = (sys.executable, "-c", STARTER, str(folder), str(port))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"started\n"
        yield process
        process.kill()


def test_programs_die_with_a_starter_that_is_killed(tmp_path: Path) -> None:
    port = free_port()
    with starter(tmp_path, port):
        pass
    with owned(tmp_path, within_s=PATIENCE_S):
        until(lambda: not listens(port))


def test_programs_die_even_if_their_lifeline_is_killed_as_well(tmp_path: Path) -> None:
    port = free_port()
    with starter(tmp_path, port) as process:
        commands = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children(process.pid)}
        (lifeline,) = (pid for pid, command in commands.items() if "lifeline" in command)
        process.send_signal(signal.SIGSTOP)
        os.kill(lifeline, signal.SIGKILL)
    until(lambda: not listens(port))


DIES_AT_FIRST = """
import http.server, pathlib, sys

starts = pathlib.Path(sys.argv[2])
before = starts.read_text() if starts.exists() else ""
starts.write_text(before + "x")
if len(before) not in (0, int(sys.argv[3])):
    sys.exit("not yet")
http.server.HTTPServer(
    ("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler
).serve_forever()
"""


def dying(tmp_path: Path, good_start: int) -> Program:
    """Return a program that starts well the first time, and then not before a certain start."""
    port = free_port()
    return Program(
        name="web",
        command=(
            *(sys.executable, "-c", DIES_AT_FIRST),
            *(str(port), str(tmp_path / "starts"), str(good_start)),
        ),
        log=tmp_path / "web.log",
        ready_url=f"http://127.0.0.1:{port}/",
    )


def kill(programs: Programs) -> None:
    pid = programs.pids()["web"]
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


def test_a_program_that_dies_as_it_starts_again_is_tried_again(
    programs: Programs, tmp_path: Path, said: list[str]
) -> None:
    web = dying(tmp_path, good_start=3)
    programs.start(web)
    kill(programs)
    for _ in range(3):
        programs.revive()
    assert requests.get(web.ready_url, timeout=PATIENCE_S).ok
    assert sum("web did not start" in line for line in said) == 2


def test_a_program_that_never_starts_again_is_given_up(
    programs: Programs, tmp_path: Path, said: list[str]
) -> None:
    programs.start(dying(tmp_path, good_start=100))
    kill(programs)
    for _ in range(FAILED_STARTS - 1):
        programs.revive()
    with pytest.raises(Misused, match="web did not start"):
        programs.revive()


TELLS_ITS_PID = """
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(os.getpid()).encode())

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_what_a_dead_program_has_left_is_killed_before_it_starts_again(
    programs: Programs, tmp_path: Path
) -> None:
    port = free_port()
    serve = shlex.join((sys.executable, "-c", TELLS_ITS_PID, str(port)))
    orphaning = Program(
        name="web",
        command=("sh", "-c", f"{serve} & wait"),
        log=tmp_path / "web.log",
        ready_url=f"http://127.0.0.1:{port}/",
    )
    programs.start(orphaning)
    orphan = requests.get(orphaning.ready_url, timeout=PATIENCE_S).text
    kill(programs)
    programs.revive()
    assert requests.get(orphaning.ready_url, timeout=PATIENCE_S).text != orphan


def test_a_lifeline_that_is_killed_is_replaced(tmp_path: Path) -> None:
    before = children(os.getpid())
    with Programs(print) as programs:
        port = free_port()
        serve = (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port))
        programs.start(Program("web", serve, tmp_path / "log", f"http://127.0.0.1:{port}/"))
        (lifeline,) = children(os.getpid()) - before - set(programs.pids().values())
        os.kill(lifeline, signal.SIGKILL)
        os.waitid(os.P_PID, lifeline, os.WEXITED | os.WNOWAIT)
        programs.revive()
        (another,) = children(os.getpid()) - before - set(programs.pids().values())
        assert another != lifeline


def test_a_folder_has_one_run_at_a_time(tmp_path: Path) -> None:
    with owned(tmp_path / "run"), pytest.raises(Misused, match="another `injector up` runs on"):
        owned(tmp_path / "run", within_s=0).__enter__()
    with owned(tmp_path / "run", within_s=0):
        pass
