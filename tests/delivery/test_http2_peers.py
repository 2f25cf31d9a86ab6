"""Our own channel before others' servers, and before what servers do when they are in trouble."""

import asyncio
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager

import grpc
import pytest
from h2.errors import ErrorCodes

from injector.delivery.address import Address
from injector.delivery.channel import CallFailed
from injector.delivery.cloud_tasks import CREATE_TASK
from injector.delivery.http2_channel import Http2Channel
from injector.http2.frames import Fault, goaway
from tests.delivery.channels import ask, listening, run
from tests.http2.h2_server import HEADERS, H2Server
from tests.scripted_service import Service, serve

Handler = Callable[[bytes, grpc.ServicerContext], bytes]


@contextmanager
def of_threads(handler: Handler, host: str = "127.0.0.1") -> Iterator[str]:
    """Run gRPC's own server of threads, which answers every call by the handler."""
    server = grpc.server(ThreadPoolExecutor(4))
    method = grpc.unary_unary_rpc_method_handler(handler)
    _, service, name = CREATE_TASK.split("/")
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(service, {name: method}),)
    )
    port = server.add_insecure_port(f"{host}:0")
    server.start()
    try:
        yield f"{host}:{port}"
    finally:
        server.stop(None).wait()


def outcomes(address: str, messages: list[bytes]) -> list[bytes | str]:
    """Ask one after the other on one channel; return each answer, or how the call failed."""

    async def call() -> list[bytes | str]:
        channel = Http2Channel(Address(emulator_host=address))
        ends: list[bytes | str] = []
        for message in messages:
            try:
                ends.append(await ask(channel, message))
            except CallFailed as failed:
                ends.append(f"{failed.code}: {failed}")
        await channel.close()
        return ends

    return run(call())


def test_a_server_of_threads_answers_and_refuses() -> None:
    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        if request == b"no":
            context.abort(grpc.StatusCode.FAILED_PRECONDITION, "the queue is gone")
        return request[::-1]

    with of_threads(answer) as address:
        assert outcomes(address, [b"abc", b"no", b"def"]) == [
            b"cba",
            "FAILED_PRECONDITION: the queue is gone",
            b"fed",
        ]


@pytest.mark.parametrize("size", [100, 7_000, 20_000, 60_000])
def test_headers_of_several_frames_are_read(size: int) -> None:
    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        context.send_initial_metadata((("x-first", "a" * (size // 2)),))
        context.set_trailing_metadata((("x-last", "b" * (size // 2)),))
        return request

    with of_threads(answer) as address:
        assert outcomes(address, [b"abc", b"def"]) == [b"abc", b"def"]


def test_headers_larger_than_we_take_end_the_connection_and_the_next_one_serves() -> None:
    """Whoever skips a block loses the table of headers, so the rest could not be read."""

    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        if request == b"many":
            context.set_trailing_metadata((("x-last", "b" * 200_000),))
        return request

    with of_threads(answer) as address:
        ends = outcomes(address, [b"few", b"many", b"few"])
    assert ends == [
        b"few",
        "UNAVAILABLE: the server broke HTTP/2: a header block without end",
        b"few",
    ]


def test_a_server_on_ipv6_is_reached() -> None:
    with ExitStack() as stack:
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            pytest.skip("this machine has no IPv6")
        address = stack.enter_context(of_threads(lambda request, _: request, host="[::1]"))
        assert outcomes(address, [b"abc"]) == [b"abc"]


async def talk(server: H2Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
    writer.write(server.connection.data_to_send())
    while data := await reader.read(65_536):
        server.receive(data)
        writer.write(server.connection.data_to_send())


def scripted(trouble: Callable[[H2Server, int], None]) -> tuple[list[bytes | str], int]:
    """Ask twice a server that is in trouble at its first call; return the ends, and who came."""
    troubled: list[int] = []

    async def answer(reader, writer) -> None:
        def one(server: H2Server, stream: int, body: bytes) -> None:
            if troubled:
                server.echo(stream, body)
            else:
                troubled.append(stream)
                trouble(server, stream)

        await talk(H2Server(one), reader, writer)

    with listening(answer) as (address, came):
        ends = outcomes(address, [b"one", b"two"])
        return ends, len(came)


def test_a_call_that_was_refused_unseen_is_sent_again() -> None:
    ends, connections = scripted(
        lambda server, stream: server.connection.reset_stream(stream, ErrorCodes.REFUSED_STREAM)
    )
    assert (ends, connections) == ([b"one", b"two"], 1)


def test_a_call_that_is_reset_amidst_its_headers_fails_alone() -> None:
    def trouble(server: H2Server, stream: int) -> None:
        server.connection.send_headers(stream, HEADERS)
        server.connection.reset_stream(stream, ErrorCodes.INTERNAL_ERROR)

    ends, connections = scripted(trouble)
    assert ends == ["INTERNAL: the server reset the call: HTTP/2 error 2", b"two"]
    assert connections == 1


def test_a_server_that_wants_calm_is_left_and_what_it_did_not_see_is_sent_to_the_next() -> None:
    """The code of the GOAWAY is for people; what counts is which calls it looked at."""
    calmed: list[int] = []

    async def serve_one(reader, writer) -> None:
        def answer(server: H2Server, stream: int, body: bytes) -> None:
            if body.endswith(b"two") and not calmed:
                calmed.append(stream)
                writer.write(goaway(stream - 2, Fault.ENHANCE_YOUR_CALM, "too_many_pings"))
            else:
                server.echo(stream, body)

        await talk(H2Server(answer), reader, writer)

    with listening(serve_one) as (address, came):
        assert outcomes(address, [b"one", b"two", b"three"]) == [b"one", b"two", b"three"]
    assert len(came) == 2


def test_a_proxy_that_has_no_server_is_unavailable() -> None:
    def trouble(server: H2Server, stream: int) -> None:
        fields = ((":status", "503"), ("content-type", "text/html"))
        server.connection.send_headers(stream, fields)
        server.connection.send_data(stream, b"<h1>no healthy upstream</h1>", end_stream=True)

    ends, connections = scripted(trouble)
    assert ends == ["UNAVAILABLE: the server answered with HTTP status 503", b"two"]
    assert connections == 1


def test_a_call_to_nobody_is_unavailable_and_says_where(stack: ExitStack) -> None:
    service = stack.enter_context(serve(Service()))
    nobody = service.address
    stack.close()
    (end,) = outcomes(nobody, [b""])
    assert str(end).startswith(f"UNAVAILABLE: cannot connect to {nobody}: ")
