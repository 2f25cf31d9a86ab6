"""Creators in real processes: forked, threaded, stopped; what they hold open, and for how long."""

import gc
import os
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Create, Outcome
from injector.errors import Retryable
from tests.scripted_service import Service
from tests.waiting import PATIENCE_S, free_port, listens, until

QUEUE = "projects/p/locations/l/queues/q"
ROOT = Path(__file__).parents[2]

HEAD = """
import os, sys, threading
from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Create, Outcome

connection = Connection(Address(emulator_host=sys.argv[1]))
creator = make_creator(connection, Delivery(mode="single"))

def create(prefix, of=10):
    creates = [Create("projects/p/locations/l/queues/q", f"{prefix}-{each}", "http://t.test/")
               for each in range(of)]
    return {result.outcome.value for result in creator.create_all(creates, budget_s=20)}
"""


def run(script: str, service: Service, *options: str) -> str:
    """Run the script in a process of its own and return what it printed."""
    done = subprocess.run(
        [sys.executable, *options, "-c", HEAD + textwrap.dedent(script), service.address],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def test_making_a_creator_opens_nothing(service: Service) -> None:
    printed = run(
        "print(threading.active_count(), [link for link in os.listdir('/proc/self/fd')"
        " if 'socket' in (os.path.exists(f'/proc/self/fd/{link}') and"
        " os.readlink(f'/proc/self/fd/{link}') or '')])",
        service,
    )
    assert printed.strip() == "1 []"
    assert not service.calls


def test_parent_and_children_each_create_after_a_fork(service: Service) -> None:
    """The parent has used its channel before, which grpc would not survive by itself."""
    run(
        """
        assert create("before") == {"created"}
        children = []
        for number in range(3):
            pid = os.fork()
            if pid == 0:
                os._exit(0 if create(f"child{number}") == {"created"} else 1)
            children.append(pid)
        assert create("after") == {"created"}
        assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
        """,
        service,
    )
    assert len(service.tasks) == 50


def test_a_child_forked_while_threads_create_is_not_stuck(service: Service) -> None:
    """What is under way in the parent at that moment is not taken, and can be sent again."""
    run(
        """
        ends = []
        threads = [threading.Thread(target=lambda n=n: ends.append(create(f"t{n}", 200)))
                   for n in range(4)]
        for thread in threads:
            thread.start()
        pid = os.fork()
        if pid == 0:
            os._exit(0 if create("child") == {"created"} else 1)
        assert os.waitpid(pid, 0)[1] == 0
        for thread in threads:
            thread.join()
        assert len(ends) == 4, ends
        """,
        service,
    )


def test_a_process_ends_by_itself_with_its_channel_open(service: Service) -> None:
    printed = run("print(create('last'))", service)
    assert printed.strip() == "{'created'}"


def test_ctrl_c_ends_a_back_off_at_once(service: Service) -> None:
    """The back-off is of a minute, longer than this test is patient."""
    printed = run(
        """
        import signal
        from injector.pacing.backoff import Backoff
        slow = make_creator(Connection(Address(emulator_host="127.0.0.1:1")),
                            Delivery(mode="single", throttle=None,
                                     backoff=Backoff(first_s=6000, most_s=6000)))
        try:
            threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
            slow.create_all([Create("q", "t", "http://t.test/")], budget_s=100_000)
        except KeyboardInterrupt:
            print("interrupted")
        """,
        service,
    )
    assert printed.strip() == "interrupted"


def test_a_workers_files_and_connection_stay_the_same(service: Service) -> None:
    connection = Connection(Address(emulator_host=service.address))
    creator = make_creator(connection, Delivery(mode="single"))
    all_there = threading.Barrier(8)

    def request(number: int) -> set[Outcome]:
        creates = [Create(QUEUE, f"t{number}-{each}", "http://t.test/") for each in range(3)]
        return {result.outcome for result in creator.create_all(creates, budget_s=20)}

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: all_there.wait(), range(8)))
        list(pool.map(request, range(50)))
        files, threads = open_files(), set(threading.enumerate())
        ends = list(pool.map(request, range(50, 500)))
        assert open_files() <= files
        assert set(threading.enumerate()) <= threads
    connection.close()
    assert ends == [{Outcome.CREATED}] * 450
    assert len(service.peers) == 1


def test_close_lets_go_of_threads_and_sockets(service: Service) -> None:
    connection = Connection(Address(emulator_host=service.address))
    make_creator(connection, Delivery(mode="single")).create_all(
        [Create(QUEUE, "t", "http://t.test/")], budget_s=20
    )
    assert "injector-delivery" in thread_names()
    connection.close()
    assert "injector-delivery" not in thread_names()


def test_a_closed_connection_by_grpc_leaves_no_channel_behind(service: Service) -> None:
    """Its asyncio half must be gone before a fork."""
    before = asyncio_channels()
    connection = Connection(Address(emulator_host=service.address, by_grpc=True))
    creator = make_creator(connection, Delivery(mode="single"))
    (result,) = creator.create_all([Create(QUEUE, "t", "http://t.test/")], budget_s=20)
    connection.close()
    assert result.outcome is Outcome.CREATED
    assert asyncio_channels() <= before


def asyncio_channels() -> set[grpc.aio.Channel]:
    gc.collect()
    return {one for one in gc.get_objects() if isinstance(one, grpc.aio.Channel)}


def test_closing_while_threads_create_leaves_nobody_waiting(service: Service) -> None:
    """What was cut off is not taken, and taken when it is sent again."""
    connection = Connection(Address(emulator_host=service.address))
    creator = make_creator(connection, Delivery(mode="single"))

    def request(number: int) -> set[Outcome]:
        creates = [Create(QUEUE, f"t{number}-{each}", "http://t.test/") for each in range(20)]
        try:
            return {result.outcome for result in creator.create_all(creates, budget_s=20)}
        except Retryable:
            return {Outcome.NOT_TAKEN}

    with ThreadPoolExecutor(4) as pool:
        ends = pool.map(request, range(60))
        for _ in range(20):
            connection.close()
        assert Outcome.REJECTED not in set().union(*ends)
        settled = set().union(*pool.map(request, range(60)))
    connection.close()
    assert settled <= {Outcome.CREATED, Outcome.EXISTED}
    assert len(service.tasks) == 60 * 20


def test_workers_forked_from_an_application_that_created_before_all_create(
    service: Service, tmp_path: Path
) -> None:
    """Gunicorn with --preload, and a creator that is used at import on purpose."""
    (tmp_path / "app.py").write_text(
        HEAD.replace("sys.argv[1]", "os.environ['SERVICE']")
        + textwrap.dedent("""
        from itertools import count
        create("import")
        numbers = count()

        def app(environ, start_response):
            ends = create(f"{os.getpid()}-{next(numbers)}")
            start_response("200 OK", [("Content-Type", "text/plain")])
            return [f"{os.getpid()} {sorted(ends)}".encode()]
        """)
    )
    with gunicorn(tmp_path, service) as url, ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(get, [url] * 60))
    pids = {answer.split()[0] for answer in answers}
    assert {answer.split()[1] for answer in answers} == {b"['created']"}
    assert len(pids) == 3
    assert len(service.tasks) == 10 + 60 * 10


def thread_names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@contextmanager
def gunicorn(folder: Path, service: Service) -> Iterator[str]:
    port = free_port()
    command = [
        *(sys.executable, "-m", "gunicorn", "app:app", "--preload", "--bind", f"127.0.0.1:{port}"),
        *("--worker-class", "gthread", "--workers", "3", "--threads", "4", "--no-control-socket"),
    ]
    environment = {**os.environ, "SERVICE": service.address, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=folder, env=environment) as server:
        try:
            until(lambda: listens(port))
            yield f"http://127.0.0.1:{port}/"
        finally:
            server.terminate()
            assert server.wait(PATIENCE_S) == 0


def get(url: str) -> bytes:
    answer: bytes = urllib.request.urlopen(url, timeout=PATIENCE_S).read()
    return answer
