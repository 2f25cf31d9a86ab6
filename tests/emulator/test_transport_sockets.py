"""What clients do to the server's sockets never keeps others from being served."""

import asyncio
import gc
import socket
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import suppress

import grpc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from injector.emulator.transport.connection import Connection
from injector.event_loops import loops
from injector.http2.frames import END_HEADERS, END_STREAM, PREFACE, Type, frame
from tests.emulator.loop_thread import serving
from tests.emulator.raw_client import HELLO, METHOD, block, framed
from tests.waiting import PATIENCE_S

A_HEAD = frame(Type.HEADERS, END_HEADERS, 1, block())
ITS_BODY = frame(Type.DATA, END_STREAM, 1, framed(b"abc"))
A_CALL = A_HEAD + ITS_BODY


def on(stream: int, one: bytes) -> bytes:
    """Move a frame to another stream."""
    return one[:5] + stream.to_bytes(4, "big") + one[9:]


def echo(_method: str, request: bytes, _metadata: Mapping[str, str]) -> bytes:
    return request


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    loop = loops if request.param == "uvloop" else asyncio
    with serving(echo, new_event_loop=loop.new_event_loop) as port:
        yield port


class Sink(asyncio.Transport):
    """Takes what is written, and is never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""

    def write(self, data: bytes) -> None:
        self.written += data

    def is_closing(self) -> bool:
        return False


def test_a_lost_connection_does_not_wait_for_the_collector():
    connection = Connection(echo, max_streams=100, among=set(), streams={})
    gone, sink = weakref.ref(connection), Sink()
    gc.disable()
    try:
        connection.connection_made(sink)
        connection.data_received(HELLO + A_CALL)
        connection.connection_lost(None)
        del connection
        assert gone() is None
    finally:
        gc.enable()
    assert b"abc" in sink.written


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


def read_all(client: socket.socket) -> bytes:
    return b"".join(iter(lambda: client.recv(65_536), b""))


def serves_others(port: int) -> bool:
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        return channel.unary_unary(METHOD)(b"abc", timeout=PATIENCE_S) == b"abc"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(garbage=st.binary(max_size=300), greeting=st.sampled_from([b"", PREFACE, HELLO]))
def test_garbage_on_a_connection_keeps_no_other_from_being_served(port, garbage, greeting):
    with connected(port) as client:
        client.sendall(greeting + garbage)
        client.shutdown(socket.SHUT_WR)
        with suppress(ConnectionResetError):
            read_all(client)
    with connected(port) as client:
        client.sendall(HELLO + A_CALL)
        client.shutdown(socket.SHUT_WR)
        assert framed(b"abc") in read_all(client)


def test_http1_is_told_what_the_port_speaks(port):
    with connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        answer = read_all(client)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body == b"This port speaks gRPC over HTTP/2.\n"
    assert f"Content-Length: {len(body)}".encode() in head


def test_a_broken_protocol_is_answered_with_why(port):
    with connected(port) as client:
        client.sendall(HELLO + frame(Type.PING, 0, 0, b"x"))
        assert b"1 bytes, not 8" in read_all(client)


def test_a_client_that_closes_its_side_still_gets_a_late_answer():
    closed = threading.Event()

    async def later() -> bytes:
        await asyncio.get_running_loop().run_in_executor(None, closed.wait)
        return b"late"

    with serving(lambda *_: later()) as port, connected(port) as client:
        client.sendall(HELLO + A_CALL)
        client.shutdown(socket.SHUT_WR)
        closed.set()
        assert framed(b"late") in read_all(client)


def test_a_flood_of_pings_that_nobody_reads_the_answers_of_is_read_no_further(port):
    flood = frame(Type.PING, 0, 0, bytes(8)) * 20_000
    with connected(port) as client:
        client.sendall(HELLO)
        client.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.sendall(flood * 100)
        assert serves_others(port)


def test_a_flood_of_opened_and_reset_calls_keeps_no_other_from_being_served(port):
    reset = frame(Type.RST_STREAM, 0, 1, bytes(4))
    resets = b"".join(on(n, A_HEAD) + on(n, reset) for n in range(1, 20_001, 2))
    with connected(port) as client:
        client.sendall(HELLO + resets)
        client.sendall(frame(Type.PING, 0, 0, b"12345678"))
        client.shutdown(socket.SHUT_WR)
        assert read_all(client).endswith(b"12345678")
    assert serves_others(port)


def test_a_connection_that_is_cut_in_mid_frame_keeps_no_other_from_being_served(port):
    with connected(port) as client:
        client.sendall(HELLO + A_CALL[:30])
    assert serves_others(port)


def test_answers_to_many_calls_leave_in_their_order(port):
    calls = b"".join(on(n, A_HEAD) + on(n, ITS_BODY) for n in range(1, 2001, 2))
    with connected(port) as client:
        client.sendall(HELLO + calls)
        client.shutdown(socket.SHUT_WR)
        assert read_all(client).count(framed(b"abc")) == 1000
