"""The command line on a terminal: colour, live bars, and the question before a job."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.waiting import PATIENCE_S

JOB = {
    "id": "welcome",
    "group": "welcome",
    "state": "running",
    "reason": "",
    "records": 1000,
    "chunks": 10,
    "created": 600,
    "existed": 0,
    "rejected": 0,
    "rate_now": 480.0,
    "rate_allowed": 500.0,
    "eta_s": 75.0,
    "started_at": 1.0,
    "finished_at": None,
}
FINISHED = {**JOB, "state": "finished", "created": 1000, "finished_at": 61.0}
GROUP = {"name": "welcome", "injector_queues": [], "queues": 4, "topic": None, "ramp": {}}
QUEUES = {"queues": []}
NO_JOBS = {"jobs": [], "next": None}
LOOKS = ["GET /groups/welcome", "GET /groups/welcome/queues"]
MANIFEST = """\
job: welcome
group: welcome
records: users.jsonl
format: jsonl
task: {http: {url: "https://worker.example/"}}
"""


@contextmanager
def service(answers):
    """Serve the answers one after the other, the last one for ever; yield URL and requests."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(f"{self.command} {self.path}")
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.dumps(answers[min(len(asked), len(answers)) - 1]).encode()
            self.send_response(201 if self.command == "POST" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815  (http.server's name)

        def log_message(self, format, *_):  # noqa: A002, ANN002  (http.server's names)
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def run_on_terminal(arguments, folder, answer="", environment=()):
    """Run the command on a terminal of its own; return its exit code and all that it showed."""
    mine, theirs = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100"}
    env.pop("NO_COLOR", None)
    env.update(environment)
    command = [sys.executable, "-m", "injector", *arguments]
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(mine, answer.encode())
    shown = b""
    with suppress(OSError):  # the terminal's other end is closed
        while part := os.read(mine, 4096):
            shown += part
    os.close(mine)
    return process.wait(timeout=PATIENCE_S), shown.decode()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "m.yaml").write_text(MANIFEST)
    (tmp_path / "users.jsonl").write_text('{"id": 1}\n')
    return tmp_path


def test_watch_draws_bars_until_the_job_ends(folder):
    with service([JOB, FINISHED]) as (url, asked):
        code, shown = run_on_terminal(["watch", "welcome", "--service", url], folder)
    assert code == 0
    assert len(asked) == 2
    assert "600/1,000" in shown
    assert "480 of 500 creates/s" in shown
    assert "1,000/1,000" in shown
    assert "━" in shown
    assert re.search("480 of 500 creates/s +█", shown)


def test_colour_is_used_on_a_terminal_and_not_under_no_color(folder):
    with service([FINISHED]) as (url, _):
        status = ["status", "welcome", "--service", url]
        _, coloured = run_on_terminal(status, folder)
        _, plain = run_on_terminal(status, folder, environment={"NO_COLOR": "1", "TERM": "dumb"})
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain


@pytest.mark.parametrize(
    ("answer", "code", "then"),
    [
        ("y\n", 0, ["POST /jobs"]),
        ("n\n", 1, ["GET /jobs", "GET /jobs"]),  # whose chunks they are, before they go
        ("\x04", 130, ["GET /jobs", "GET /jobs"]),
    ],
    ids=["yes", "no", "nothing"],
)
def test_submit_asks_and_does_what_is_answered(folder, answer, code, then):
    is_yes = code == 0
    with service([GROUP, QUEUES, FINISHED if is_yes else NO_JOBS]) as (url, asked):
        ended, shown = run_on_terminal(["submit", "m.yaml", "--service", url], folder, answer)
    assert (ended, [line.partition("?")[0] for line in asked]) == (code, [*LOOKS, *then])
    assert len(list(folder.rglob("staged.json"))) == is_yes
    assert "Traceback" not in shown
    if code != 130:
        assert "Create 1 task?" in shown


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"]
)
def test_interrupted_submit_leaves_nothing_and_says_so_by_its_exit_code(folder, number, code):
    with service([GROUP, QUEUES]) as (url, asked):
        arguments = ("submit", "m.yaml", "--yes", "--records", "-", "--service", url)
        submit = subprocess.Popen(
            [sys.executable, "-m", "injector", *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        submit.stdin.write(b'{"id": 1}\n' * 100_000)
        submit.stdin.flush()
        submit.send_signal(number)
        _, said = submit.communicate(timeout=PATIENCE_S)
    assert (submit.returncode, asked) == (code, LOOKS)
    assert b"Traceback" not in said
    assert not [path for path in folder.rglob("*") if path.name in {"index", "staged.json"}]
