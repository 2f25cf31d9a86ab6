"""How soon /healthz answers while dashboards are open, and what a look at a job costs.

    python benchmarks/dashboard.py [--full]

A gunicorn as deployed (2 workers of 8 threads) serves a ledger with a running job of 50 million
records. Each dashboard asks what the page asks, at its pace: what changes every 2 seconds, the
charts every 5. The peer is the same gunicorn with pages that hold a stream of server-sent events
each, which writes once in 2 seconds. Time to first byte is from before the connection is made;
a question that is not answered within 5 seconds counts as 5.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from statistics import median
from threading import Event

from flask import Flask, Response
from rows import Row, printed

from injector.control.memory import Memory, Said
from injector.control.ramp_state import RampState
from injector.ledger import open_ledger
from injector.ledger.ports import GroupState, NewJob, RampDecision

DASHBOARDS, PATIENCE_S = 20, 5.0
PAGE = "/dashboard/jobs/large?part=live"
CHARTS = "/dashboard/groups/g/minutes?minutes=60"
QUEUES = "projects/p/locations/l/queues"
GROUPS = f'{{"groups":{{"g":{{"injector_queues":"{QUEUES}/i","queues":"{QUEUES}/q-[00-39]"}}}}}}'


def rows(*, full: bool) -> Iterator[Row]:
    """Measure a first load and a look; then /healthz beside dashboards, and beside streams."""
    looks = 1000 if full else 100
    with tempfile.TemporaryDirectory() as folder:
        fill(f"sqlite:///{folder}/ledger.db")
        with serving(folder, "--config", "python:handlers.gunicorn_config") as port:
            for name, path in (("all jobs", "/"), ("a job", "/dashboard/jobs/large")):
                yield Row(f"first load of the page of {name}", load_kb(port, path), "KB")
            for name, path in (("a job of 50 million", PAGE), ("its charts", CHARTS)):
                made = [made_anew_s(port, path) for _ in range(looks // 5)]
                yield Row(f"what changes of {name}, median", 1000 * median(made), "ms")
            alone = healthz(port, looks)
            with looking(port, look) as answered:
                beside = healthz(port, looks)
        with serving(folder, *PEER) as port, looking(port, stream):
            streaming = healthz(port, 10)
    yield Row("/healthz, first byte, nobody looks, median", 1000 * median(alone), "ms")
    peer = f"{DASHBOARDS} event streams"
    for name, figure in (("median", median), ("worst", max)):
        ours, theirs = 1000 * figure(beside), 1000 * figure(streaming)
        yield Row(f"the same, {DASHBOARDS} dashboards open, {name}", ours, "ms", peer, theirs)
    refused = 100 * answered[503] / answered.total()
    yield Row("their questions that were asked to come again", refused, "%")


PEER = ("--worker-class=gthread", "--workers=2", "--threads=8", "dashboard:streams()")


@dataclass(frozen=True, slots=True)
class Open:
    """A dashboard, opened after some seconds, until it `ends`.

    `answered` counts what all are answered, by status.
    """

    port: int
    opened_s: float
    ends: Event
    answered: Counter[int]


def look(page: Open) -> None:
    """Ask as a job's page does."""
    tags: dict[str, str] = {}
    round_no = 0
    while not page.ends.wait(2.0 if round_no else page.opened_s):
        for path in (PAGE, CHARTS) if round_no % 5 in {0, 2} else (PAGE,):
            with closing(HTTPConnection("127.0.0.1", page.port, timeout=PATIENCE_S)) as asked:
                asked.request("GET", path, headers={"If-None-Match": tags.get(path, '""')})
                answer = asked.getresponse()
                answer.read()
                page.answered[answer.status] += 1
                tags[path] = answer.headers["ETag"] or ""
        round_no += 1


def stream(page: Open) -> None:
    """Hold a stream of events, as the peer's page does, and ask for another when it is lost."""
    while not page.ends.is_set():
        with (
            suppress(OSError, HTTPException),
            closing(HTTPConnection("127.0.0.1", page.port, timeout=PATIENCE_S)) as asked,
        ):
            asked.request("GET", "/events")
            answer = asked.getresponse()
            while not page.ends.is_set() and answer.readline():
                pass


def streams() -> Flask:
    """Make the peer: an application whose pages hold a stream each."""
    app = Flask("peer")

    def events() -> Iterator[str]:
        while True:
            yield "data: {}\n\n"
            time.sleep(2)

    app.add_url_rule("/events", "events", lambda: Response(events(), mimetype="text/event-stream"))
    app.add_url_rule("/healthz", "healthz", lambda: {"status": "ok"})
    return app


@contextmanager
def looking(port: int, page: Callable[[Open], None]) -> Iterator[Counter[int]]:
    """Have many pages open, and yield what they are answered."""
    ends, answered = Event(), Counter[int]()
    with ThreadPoolExecutor(DASHBOARDS) as pool:
        for number in range(DASHBOARDS):
            pool.submit(page, Open(port, 2 * number / DASHBOARDS, ends, answered))
        time.sleep(3)
        try:
            yield answered
        finally:
            ends.set()


def healthz(port: int, looks: int) -> list[float]:
    """Ask again and again, 20 times a second at most."""
    found = []
    for _ in range(looks):
        found.append(first_byte_s(port, "/healthz"))
        time.sleep(0.05)
    return found


def first_byte_s(port: int, path: str) -> float:
    """Return how long the first byte of an answer takes."""
    began = time.perf_counter()
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), PATIENCE_S) as asked:
        asked.settimeout(PATIENCE_S)
        asked.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        asked.recv(1)
    return time.perf_counter() - began


def made_anew_s(port: int, path: str) -> float:
    """Look once what others saw is too old to be shared."""
    time.sleep(1.05)
    return first_byte_s(port, path)


def load_kb(port: int, path: str) -> float:
    """Add up what a browser loads that was never here: a page, and the files it names."""
    page = fetched(port, path)
    names = sorted(set(re.findall(r'"(/dashboard/files/[^"]+)"', page.decode())))
    return (len(page) + sum(len(fetched(port, name)) for name in names)) / 1024


def fetched(port: int, path: str) -> bytes:
    """Return a body as it is sent."""
    with closing(HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) as asked:
        asked.request("GET", path, headers={"Accept-Encoding": "gzip"})
        return asked.getresponse().read()


def fill(url: str) -> None:
    """Keep a large job under way, and an hour of its group's signals."""
    manifest = (
        '{"job":"large","group":"g","records":"u.jsonl","task":{"http":{"url":"http://t.example"}}}'
    )
    now = time.time()
    memory = Memory(RampState(rate=50, ticked_at=now), said=Said(now, "hold", "all is well"))
    with closing(open_ledger(url)) as ledger:
        ledger.jobs.register(
            NewJob("large", "g", manifest, "/chunks", 50_000_000, 500_000, "d" * 64), now=now
        )
        for minute in range(60):
            counts = {f"latency.{bucket}": 600 for bucket in range(14, 40)} | {"accepted": 300_000}
            ledger.signals.add("g", counts, now=now - 60 * minute)
        for version in range(50):
            step = RampDecision(now - 70 * (50 - version), "raise", 50.0, 80, "used and healthy")
            state = GroupState("g", memory.to_json(), version, now)
            ledger.groups.save(state, expected_version=version, decision=step)


@contextmanager
def serving(folder: str, *arguments: str) -> Iterator[int]:
    """Run gunicorn and yield its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path(__file__).parent),
        "PORT": str(port),
        "INJECTOR_AUTH": "off",
        "INJECTOR_GROUPS": GROUPS,
        "INJECTOR_LEDGER_URL": f"sqlite:///{folder}/ledger.db",
        "INJECTOR_LOG_LEVEL": "ERROR",
        "CLOUDTASKS_EMULATOR_HOST": "127.0.0.1:1",
    }
    command = [sys.executable, "-m", "gunicorn", f"--bind=127.0.0.1:{port}", *arguments]
    with (Path(folder) / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environ, stdout=log, stderr=subprocess.STDOUT)
        try:
            await_answer(port, process)
            yield port
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


def await_answer(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until the service answers; raises RuntimeError when it ends instead."""
    while process.poll() is None:
        with suppress(OSError, HTTPException):
            fetched(port, "/healthz")
            return
        time.sleep(0.1)
    raise RuntimeError("gunicorn ended; run it by hand to see why")


if __name__ == "__main__":
    printed(rows(full="--full" in sys.argv))
