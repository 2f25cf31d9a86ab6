import json
import os
import resource
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event

import pytest
import requests

from injector.pacing.limiter import pool_threads
from tests.scripted_service import Answer, Service, serve
from tests.served import GROUPS, Served, await_ready, spawn, stop
from tests.waiting import PATIENCE_S, answers, free_port, until


@contextmanager
def serving(folder):
    """Give what starts services in a folder; all are stopped at the end."""
    with ExitStack() as stack:
        tasks = stack.enter_context(serve(Service()))

        def start(*arguments: str, **environ: str):
            port = free_port()
            log = folder / f"service-{port}.log"
            process = spawn(folder, log, tasks.address, *arguments, PORT=str(port), **environ)
            stack.callback(stop, process)
            served = Served(process, f"http://127.0.0.1:{port}", tasks, folder, log)
            await_ready(served)
            return served

        yield start


@pytest.fixture
def served_with(tmp_path):
    """Start a service by its arguments and environment."""
    with serving(tmp_path) as start:
        yield start


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A service with one worker and a job of 2000 records, for all tests that do not end it."""
    with serving(tmp_path_factory.mktemp("served")) as start:
        served = start(GOOGLE_CLOUD_PROJECT="p")
        served.submit()
        yield served


def test_the_service_gives_up_requests_that_do_not_arrive(served):
    assert "Using worker: handlers.worker.PromptWorker" in served.log.read_text()


@pytest.mark.parametrize("chunk", [b"ZZ\r\n{}\r\n0\r\n\r\n", b"2\r\n{}junk", b"-1\r\n\r\n"])
def test_a_body_in_chunks_that_are_none_is_the_callers_fault(served, chunk):
    head = b"POST /jobs HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(served.url.rpartition(":")[2]))) as caller:
        caller.sendall(head + chunk)
        assert caller.recv(20).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("arguments", [(), ("--preload",)])
def test_every_request_to_several_workers_is_answered_and_counted(served_with, arguments):
    served = served_with(*arguments, INJECTOR_WORKERS="3")
    served.submit(2000)
    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(served.deliver, range(20)))
    assert [answer.json().get("status") for answer in answers] == ["settled"] * 20
    assert len(served.tasks.tasks) == 2000
    assert set(served.tasks.sent().values()) == {1}
    shown = requests.get(f"{served.url}/metrics", timeout=PATIENCE_S).text
    assert 'injector_records_total{outcome="created"} 2000.0' in shown
    assert served.end() == 0


def test_a_chunk_that_takes_too_long_is_handed_back_when_the_process_ends(served_with):
    served = served_with(INJECTOR_DRAIN_S="1")
    served.submit(100)
    served.tasks.plan = lambda seen: Answer(delay_s=60) if seen.number % 2 else Answer()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(served.deliver, 0)
        until(lambda: served.tasks.running >= 50)
        code = served.end()
        answer = waiting.result()
    assert (code, answer.status_code) == (0, 503)
    assert "Retry-After" in answer.headers

    served.tasks.plan = lambda _: Answer()
    again = served_with()
    assert again.deliver(0).json()["status"] == "settled"
    assert len(served.tasks.tasks) == 100


def test_a_service_full_of_fan_outs_still_ticks_and_answers_health_checks(served_with):
    served, over = served_with(INJECTOR_THREADS="2"), Event()
    served.submit(1000)
    served.tasks.plan = lambda _: Answer(until=over.is_set)
    with ThreadPoolExecutor(10) as pool:
        waiting = [pool.submit(served.deliver, chunk) for chunk in range(10)]
        until(lambda: sum(one.done() for one in waiting) >= 6)
        assert requests.get(f"{served.url}/healthz", timeout=PATIENCE_S).ok
        tick = requests.post(f"{served.url}/control/tick", timeout=PATIENCE_S).json()
        over.set()
        answers = [one.result() for one in waiting]
    assert tick["status"] == "ticked"
    refused = [answer for answer in answers if answer.status_code == 503]
    assert len(refused) >= 6
    assert all(answer.headers["Retry-After"] == "5" for answer in refused)
    assert all(answer.json()["status"] == "settled" for answer in answers if answer.ok)


def met_as(tasks, seen):
    """Return the place of a task among all by when it was first seen, however often it is tried."""
    return list(tasks.sent()).index(seen.names[0])


def test_a_handler_stops_itself_in_time_and_keeps_what_is_settled(served_with):
    served = served_with(INJECTOR_HANDLER_BUDGET_S="1")
    served.submit(200)
    until(lambda: served.deliver(1).ok)
    slow = Answer(delay_s=60)
    served.tasks.plan = lambda seen: slow if met_as(served.tasks, seen) % 2 else Answer()
    answer = served.deliver(0)
    assert answer.status_code == 503
    created = (
        requests.get(f"{served.url}/jobs/welcome-1", timeout=PATIENCE_S).json()["created"] - 100
    )
    assert 0 < created <= 50
    assert f"{created} of 100 records" in answer.json()["detail"]


def test_a_chunk_that_can_be_finished_is_finished_when_the_process_ends(served_with):
    served, is_ending = served_with(INJECTOR_DRAIN_S="8"), Event()
    served.submit(100)
    held = Answer(until=is_ending.is_set)
    served.tasks.plan = lambda seen: held if met_as(served.tasks, seen) == 50 else Answer()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(served.deliver, 0)
        until(lambda: len(served.tasks.tasks) == 99)
        served.process.terminate()
        until(lambda: not answers(f"{served.url}/healthz"))
        is_ending.set()
        code = served.process.wait(PATIENCE_S)
        answer = waiting.result()
    assert (code, answer.status_code, answer.json()["status"]) == (0, 200, "settled")


THREADS = 8


def test_descriptors_and_threads_do_not_grow_with_requests(served):
    # Each thread may open a connection to the ledger, which is a file and its log. That a client
    # hung up is noticed a moment later, the later the busier the machine.
    master = served.process.pid
    (worker,) = Path(f"/proc/{master}/task/{master}/children").read_text().split()

    def held(what):
        return len(list(Path(f"/proc/{worker}/{what}").iterdir()))

    def ask(requests):
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(served.deliver, (n % 20 for n in range(requests))))

    ask(20)
    before = held("fd"), held("task")
    ask(400)
    until(lambda: held("fd") <= before[0] + 2 * pool_threads(THREADS))
    until(lambda: held("task") <= before[1] + pool_threads(THREADS))


@contextmanager
def few_files(most):
    """Let what is started here open no more files than that."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_process_that_may_open_few_files_answers_every_request(served_with):
    with few_files(256):
        served = served_with()
    served.submit()
    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(served.deliver, (n % 20 for n in range(600))))
    assert {answer.status_code for answer in answers} == {200}
    assert "Too many open files" not in served.log.read_text()
    assert len(served.tasks.peers) == 1


def test_a_body_sent_in_pieces_is_read(served):
    pieces = iter([b'{"version":1,"job":', b'"welcome-1","chunk":1}'])
    answer = requests.post(f"{served.url}/inject", data=pieces, timeout=PATIENCE_S)
    assert answer.json()["status"] == "settled"


def endless(megabytes):
    for _ in range(megabytes):
        yield b" " * (1024 * 1024)


@pytest.mark.parametrize("stated", [True, False])
def test_a_body_of_50_megabytes_is_refused_unread_and_the_service_goes_on(served, stated):
    for path, status in (("/inject", 200), ("/jobs", 413)):
        body = b" " * (50 * 1024 * 1024) if stated else endless(50)
        try:
            answer = requests.post(f"{served.url}{path}", data=body, timeout=PATIENCE_S)
        except requests.ConnectionError:
            continue  # It hung up while we were still sending.
        assert answer.status_code == status
    assert requests.get(f"{served.url}/healthz", timeout=PATIENCE_S).ok


def test_logs_are_json_lines_with_severity_and_trace(served):
    trace = "0af7651916cd43dd8448eb211c80319c"
    headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
    task = {"version": 1, "job": "welcome-1", "chunk": 2}
    requests.post(f"{served.url}/inject", json=task, headers=headers, timeout=PATIENCE_S)
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    name = "logging.googleapis.com/trace"
    (settled,) = [line for line in lines if line.get(name) == f"projects/p/traces/{trace}"]
    assert (settled["event"], settled["severity"]) == ("chunk.settled", "INFO")
    assert (settled["job"], settled["chunk"]) == ("welcome-1", 2)


def test_wrong_settings_are_listed_without_a_traceback(tmp_path):
    log = tmp_path / "log"
    process = spawn(tmp_path, log, "127.0.0.1:1", INJECTOR_THREADS="0", INJECTOR_HOST="0.0.0.0")
    assert process.wait(PATIENCE_S) == 2
    written = log.read_text()
    assert "INJECTOR_THREADS='0'" in written
    assert "INJECTOR_AUTH='off'" in written
    assert "Traceback" not in written


ONLY_MAKE = """
import os, sys, threading
import handlers.wsgi
before = set(os.listdir("/proc/self/fd"))
handlers.wsgi.application()
assert threading.active_count() == 1, threading.enumerate()
opened = set(os.listdir("/proc/self/fd")) - before
assert not [fd for fd in opened if os.path.exists(f"/proc/self/fd/{fd}")]
assert not os.path.exists("ledger.db")
"""


def test_making_the_application_opens_and_starts_nothing(tmp_path):
    environ = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(Path.cwd()),
        "INJECTOR_GROUPS": GROUPS,
        "INJECTOR_AUTH": "off",
        "INJECTOR_LEDGER_URL": "sqlite:///ledger.db",
    }
    subprocess.run([sys.executable, "-c", ONLY_MAKE], env=environ, cwd=tmp_path, check=True)
