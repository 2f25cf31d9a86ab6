"""Callers who send a request slowly, or never to its end."""

import socket
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
import requests
from gunicorn.http.body import Body, ChunkedReader, LengthReader
from gunicorn.http.unreader import IterUnreader

from handlers.worker import READ_WITHIN_S, Arrivals
from tests.waiting import PATIENCE_S, free_port, until

HALVES = {
    "head": b"GET / HTTP/1.1\r\nHos",
    "body": b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nhalf",
    "chunk": b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhalf",
}
SERVED = """\
import handlers.worker
handlers.worker.READ_WITHIN_S = 0.2
wsgi_app = "application:answer"
worker_class = "handlers.worker.PromptWorker"
threads = 1
"""
APPLICATION = """\
def answer(environ, start_response):
    body = environ["wsgi.input"].read()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""


@contextmanager
def served_by_one_thread(folder):
    (folder / "gunicorn_config.py").write_text(SERVED)
    (folder / "application.py").write_text(APPLICATION)
    port = free_port()
    command = ["-m", "gunicorn", "--config", "gunicorn_config.py", "--bind", f"127.0.0.1:{port}"]
    process = subprocess.Popen([sys.executable, *command], cwd=folder)
    try:
        until(lambda: answers(port))
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def answers(port):
    try:
        return requests.post(f"http://127.0.0.1:{port}/", data=b"whole", timeout=30).text == "whole"
    except requests.ConnectionError:
        return False


@pytest.mark.parametrize("half", HALVES.values(), ids=HALVES)
def test_a_caller_who_sends_half_a_request_does_not_keep_the_only_thread(tmp_path, half):
    with (
        served_by_one_thread(tmp_path) as port,
        closing(socket.create_connection(("127.0.0.1", port))) as slow,
    ):
        slow.sendall(half)
        until(lambda: answers(port))  # who is not prompt himself is given up, too, and asks again


def bodies(content=b"", *, length=9):
    """Give a body by its length, and one in chunks, as gunicorn reads them from what came."""
    counted = LengthReader(IterUnreader([content]), length)
    return Body(counted), Body(ChunkedReader(None, IterUnreader([content])))


class Connection:
    def __init__(self, sock) -> None:
        self.sock = sock


@contextmanager
def connected():
    ours, theirs = socket.socketpair()
    with closing(ours), closing(theirs):
        ours.settimeout(0)
        yield Connection(ours)


def is_cut(connection):
    try:
        return connection.sock.recv(1) == b""
    except BlockingIOError:
        return False


def test_a_request_is_given_up_once_its_time_is_over_and_not_before():
    arrivals = Arrivals()
    with connected() as connection:
        arrivals.begin(connection, now=100.0)
        arrivals.cut(now=100.0 + READ_WITHIN_S - 1)
        assert not is_cut(connection)
        arrivals.cut(now=100.0 + READ_WITHIN_S)
        assert is_cut(connection)


@pytest.mark.parametrize("body", bodies(), ids=["length", "chunked"])
def test_a_body_that_has_not_come_is_given_up(body):
    arrivals = Arrivals()
    with connected() as connection:
        arrivals.begin(connection, now=0.0)
        arrivals.head(connection, body)
        arrivals.cut(now=READ_WITHIN_S)
        assert is_cut(connection)


def test_work_on_a_request_that_is_whole_may_take_any_time():
    arrivals = Arrivals()
    counted, _ = bodies(length=0)
    _, chunked = bodies(b"4\r\nbody\r\n0\r\n\r\n")
    assert chunked.read() == b"body"
    with connected() as one, connected() as other, connected() as third:
        for connection, body in ((one, counted), (other, chunked)):
            arrivals.begin(connection, now=0.0)
            arrivals.head(connection, body)
        arrivals.begin(third, now=0.0)
        arrivals.end(third)
        arrivals.cut(now=1e6)
        assert not any(map(is_cut, (one, other, third)))
