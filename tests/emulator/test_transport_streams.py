"""What every transport owes calls that stream both ways."""

import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from queue import SimpleQueue

import grpc
import pytest

from injector.emulator.rpc import Code, Dropped, RpcError
from tests.emulator.loop_thread import serving
from tests.waiting import PATIENCE_S

TALK = "/google.pubsub.v1.Subscriber/StreamingPull"


@pytest.fixture(params=["asyncio", "grpc.aio"])
def server(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[int]]:
    return partial(serving, lambda _method, asked, _metadata: asked, transport=request.param)


@contextmanager
def talking(server, converse) -> Iterator[tuple[SimpleQueue, grpc.Call]]:
    """Begin a call; what is put into the queue is sent, None ends it."""
    unlimited = (("grpc.max_receive_message_length", -1),)
    with (
        server(streams={TALK: converse}) as port,
        grpc.insecure_channel(f"127.0.0.1:{port}", options=unlimited) as channel,
    ):
        send = SimpleQueue()
        yield send, channel.stream_stream(TALK)(iter(send.get, None), timeout=PATIENCE_S)
        send.put(None)


async def echo(heard: AsyncIterator[bytes], _metadata: Mapping[str, str]) -> AsyncGenerator[bytes]:
    async for message in heard:
        yield message


def test_each_message_is_answered_before_the_next_is_sent(server):
    with talking(server, echo) as (send, said):
        for message in (b"a", b"", bytes(300_000), b"b" * 16_384):
            send.put(message)
            assert next(said) == message
        send.put(None)
        assert list(said) == []
        assert said.code() is grpc.StatusCode.OK


def test_many_messages_arrive_in_order_however_the_windows_stand(server):
    async def count(
        heard: AsyncIterator[bytes], _metadata: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        async for message in heard:
            for number in range(300):
                yield bytes([number % 256]) * int(message)

    with talking(server, count) as (send, said):
        send.put(b"5000")
        send.put(None)
        assert [(part[0], len(part)) for part in said] == [(n % 256, 5000) for n in range(300)]


@pytest.mark.parametrize("before", [0, 1])
def test_a_call_may_end_with_an_error_before_and_after_its_first_answer(server, before):
    async def refuse(
        heard: AsyncIterator[bytes], _metadata: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        async for message in heard:
            for _ in range(before):
                yield message
            raise RpcError(Code.NOT_FOUND, "é: not there")

    with talking(server, refuse) as (send, said):
        send.put(b"x")
        with pytest.raises(grpc.RpcError) as raised:
            list(said)
    assert (raised.value.code(), raised.value.details()) == (
        grpc.StatusCode.NOT_FOUND,
        "é: not there",
    )


def test_a_dropped_call_looks_like_a_dead_server(server):
    async def drop(
        heard: AsyncIterator[bytes], _metadata: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        async for _ in heard:
            raise Dropped
        yield b""

    with talking(server, drop) as (send, said):
        send.put(b"x")
        with pytest.raises(grpc.RpcError) as raised:
            next(said)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_cancelled_call_is_given_up(server):
    given_up = threading.Event()

    async def endless(
        heard: AsyncIterator[bytes], _metadata: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        try:
            async for message in heard:
                yield message
        finally:
            given_up.set()

    with talking(server, endless) as (send, said):
        send.put(b"x")
        assert next(said) == b"x"
        said.cancel()
        assert given_up.wait(PATIENCE_S)


def test_calls_of_one_answer_go_on_beside_a_stream(server):
    with (
        server(streams={TALK: echo}) as port,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        send = SimpleQueue()
        said = channel.stream_stream(TALK)(iter(send.get, None), timeout=PATIENCE_S)
        single = channel.unary_unary("/google.pubsub.v1.Publisher/Publish")
        send.put(b"1")
        assert next(said) == b"1"
        assert [single(bytes(n), timeout=PATIENCE_S) for n in (0, 9, 70_000)] == [
            b"",
            bytes(9),
            bytes(70_000),
        ]
        send.put(None)
        assert list(said) == []
