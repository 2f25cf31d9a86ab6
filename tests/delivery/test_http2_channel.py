"""Our own channel before servers that greet, limit, leave and fall silent as they please."""

import asyncio
import threading
from contextlib import ExitStack, suppress

import pytest

from injector.delivery.address import Address
from injector.delivery.channel import CallFailed
from injector.delivery.http2_channel import Http2Channel
from injector.http2.frames import Fault, Setting, Type, frame, goaway, settings_frame, window_update
from injector.http2.vigil import Vigil
from tests.delivery.channels import ask, code_of, listening, run, until
from tests.http2.h2_server import H2Server
from tests.scripted_service import Answer, Service, serve

GREETING = frame(Type.SETTINGS, 0, 0)


async def talk(server: H2Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter):
    """Let the server say what it has to, and hear the client out."""
    writer.write(server.connection.data_to_send())
    while data := await reader.read(65_536):
        server.receive(data)
        writer.write(server.connection.data_to_send())


def test_calls_that_wait_for_room_begin_when_the_server_makes_some() -> None:
    async def none_then_many(reader, writer) -> None:
        server = H2Server()
        server.limit(MAX_CONCURRENT_STREAMS=0)
        talking = asyncio.create_task(talk(server, reader, writer))
        await until(lambda: server.acknowledged > 1)
        server.limit(MAX_CONCURRENT_STREAMS=100)
        writer.write(server.connection.data_to_send())
        await talking

    async def call(address: str) -> list[str]:
        channel = Http2Channel(Address(emulator_host=address), patience_s=60)
        codes = await asyncio.gather(*(code_of(channel, timeout_s=60) for _ in range(20)))
        await channel.close()
        return codes

    with listening(none_then_many) as (address, came):
        assert run(call(address)) == ["OK"] * 20
    assert len(came) == 1


def test_a_slot_goes_round_though_those_who_wait_are_cancelled() -> None:
    async def one_at_a_time(reader, writer) -> None:
        server = H2Server()
        server.limit(MAX_CONCURRENT_STREAMS=1)
        await talk(server, reader, writer)
        assert server.most_open == 1

    async def call(address: str) -> list[str]:
        channel = Http2Channel(Address(emulator_host=address))
        calls = [asyncio.create_task(code_of(channel, timeout_s=10)) for _ in range(60)]
        for each in calls[::3]:
            await asyncio.sleep(0)
            each.cancel()
        codes = await asyncio.gather(*calls, return_exceptions=True)
        await channel.close()
        return [code for n, code in enumerate(codes) if n % 3]

    with listening(one_at_a_time) as (address, _came):
        assert run(call(address)) == ["OK"] * 40


@pytest.mark.parametrize("between", [None, 0.0, 0.001])
def test_a_server_that_greets_and_leaves_is_unavailable_and_not_stormed(between) -> None:
    async def greet_and_leave(reader, writer) -> None:
        writer.write(GREETING)
        if between is not None:
            await writer.drain()
            await asyncio.sleep(between)
        writer.write(goaway(0, Fault.NO_ERROR))
        with suppress(OSError):
            await reader.read()

    async def call(address: str) -> set[str]:
        channel = Http2Channel(Address(emulator_host=address))
        codes = {code for _ in range(50) for code in [await code_of(channel, timeout_s=5)]}
        await channel.close()
        return codes

    with listening(greet_and_leave) as (address, came):
        assert run(call(address)) == {"UNAVAILABLE"}
    assert 1 <= len(came) < 20


def test_a_server_that_lives_and_answers_no_call_is_not_stormed() -> None:
    """As a proxy does whose own server hangs: it greets, and answers pings."""

    async def hang(reader, writer) -> None:
        await talk(H2Server(lambda _server, _stream, _body: None), reader, writer)

    async def call(address: str) -> set[str]:
        channel = Http2Channel(Address(emulator_host=address))
        codes = {code for _ in range(50) for code in [await code_of(channel, timeout_s=0.05)]}
        await channel.close()
        return codes

    with listening(hang) as (address, came):
        assert run(call(address)) <= {"DEADLINE_EXCEEDED", "UNAVAILABLE"}
    assert 1 <= len(came) < 20


def test_a_server_that_never_greets_is_hung_up_on() -> None:
    hung_up: list[int] = []

    async def say_nothing(reader, _writer) -> None:
        with suppress(OSError):
            await reader.read()
        hung_up.append(1)

    async def call(address: str) -> str:
        channel = Http2Channel(Address(emulator_host=address), connect_within_s=0.1)
        code = await code_of(channel, timeout_s=10)
        await until(lambda: bool(hung_up))
        await channel.close()
        return code

    with listening(say_nothing) as (address, _came):
        assert run(call(address)) == "UNAVAILABLE"


@pytest.mark.parametrize("host", ["a..b", "x" * 64 + ".test", "nowhere.invalid"])
def test_a_host_that_no_name_can_be_is_unavailable(host: str) -> None:
    async def call() -> str:
        channel = Http2Channel(Address(emulator_host=f"{host}:80"))
        code = await code_of(channel, timeout_s=10)
        await channel.close()
        return code

    assert run(call()) == "UNAVAILABLE"


def test_a_server_that_reads_no_more_is_hung_up_on() -> None:
    read: list[int] = []
    left = threading.Event()

    async def read_too_late(reader, writer) -> None:
        writer.write(settings_frame((Setting.INITIAL_WINDOW_SIZE, 2**30)))
        writer.write(window_update(0, 2**30))
        await until(left.is_set)
        with suppress(OSError):
            while data := await reader.read(1_000_000):
                read.append(len(data))
        read.append(0)

    async def call(address: str) -> str:
        channel = Http2Channel(Address(emulator_host=address))
        while not came:  # on a busy machine the time may be up before the connection is there
            with pytest.raises(CallFailed) as failed:
                await ask(channel, bytes(40_000_000), timeout_s=0.5)
        left.set()
        await until(lambda: bool(read) and read[-1] == 0)
        await channel.close()
        return failed.value.code

    with listening(read_too_late) as (address, came):
        assert run(call(address)) == "DEADLINE_EXCEEDED"
    assert sum(read) < 40_000_000


def test_a_connection_that_lay_idle_for_long_is_left_for_a_new_one() -> None:
    async def answer(reader, writer) -> None:
        await talk(H2Server(), reader, writer)

    async def call(address: str, stale_s: float) -> list[str]:
        channel = Http2Channel(Address(emulator_host=address), stale_s=stale_s)
        codes = []
        for _ in range(2):
            codes.append(await code_of(channel))
            await asyncio.sleep(0.05)
        codes += await asyncio.gather(*(code_of(channel) for _ in range(5)))
        await channel.close()
        return codes

    for stale_s, connections in ((60.0, 1), (0.01, 3)):
        with listening(answer) as (address, came):
            assert run(call(address, stale_s)) == ["OK"] * 7
        assert len(came) == connections


def test_a_server_that_vanishes_is_left_before_the_calls_time_is_over() -> None:
    """A router that forgets a connection passes nothing on, and tells neither side."""
    gone = threading.Event()

    async def vanish(reader, writer) -> None:
        writer.write(GREETING)
        while not gone.is_set():
            await reader.read(65_536)
            gone.set()
        await reader.read()

    async def answer(reader, writer) -> None:
        if gone.is_set():
            await talk(H2Server(), reader, writer)
        else:
            await vanish(reader, writer)

    async def call(address: str) -> list[str]:
        vigils = iter([Vigil(silent_s=0.1, answer_s=0.1), Vigil()])
        channel = Http2Channel(Address(emulator_host=address), new_vigil=vigils.__next__)
        lost = await asyncio.gather(*(failure_of(channel, timeout_s=60) for _ in range(3)))
        after = await code_of(channel)
        await channel.close()
        return [*lost, after]

    with listening(answer) as (address, came):
        *lost, after = run(call(address))
    assert set(lost) == {
        "UNAVAILABLE: the connection was lost: the server is silent and answers no ping"
    }
    assert (after, len(came)) == ("OK", 2)


async def failure_of(channel: Http2Channel, **options: float) -> str:
    with pytest.raises(CallFailed) as failed:
        await ask(channel, b"", **options)
    return f"{failed.value.code}: {failed.value}"


def test_a_server_that_works_for_long_and_answers_pings_is_kept(stack: ExitStack) -> None:
    """As gRPC's own server does, which takes no more than a few pings in a row."""
    service = stack.enter_context(serve(Service(plan=lambda _: Answer(delay_s=1.5))))

    async def call() -> str:
        address = Address(emulator_host=service.address)
        channel = Http2Channel(address, new_vigil=lambda: Vigil(silent_s=0.1, answer_s=60))
        code = await code_of(channel)
        await channel.close()
        return code

    assert run(call()) == "OK"
    assert len(service.peers) == 1


def test_calls_get_through_beside_as_many_that_hang_as_the_server_takes() -> None:
    """A tick asks for queues while every create hangs; the connections are two, not many."""
    held: list[int] = []

    async def hang(reader, writer) -> None:
        def answer(server: H2Server, stream: int, body: bytes) -> None:
            if b"besides" in body:
                server.echo(stream, body)
            else:
                held.append(stream)

        server = H2Server(answer)
        server.limit(MAX_CONCURRENT_STREAMS=10)
        await talk(server, reader, writer)

    async def call(address: str) -> tuple[set[str], set[str]]:
        channel = Http2Channel(Address(emulator_host=address), patience_s=0.05)
        hanging = [asyncio.create_task(code_of(channel, timeout_s=60)) for _ in range(10)]
        for _ in range(5):
            assert await ask(channel, b"besides", timeout_s=60) == b"besides"
        hanging += [asyncio.create_task(code_of(channel, timeout_s=60)) for _ in range(10)]
        await until(lambda: len(held) == 20)
        beyond = await asyncio.gather(*(code_of(channel, timeout_s=0.5) for _ in range(10)))
        await channel.close()
        return set(beyond), set(await asyncio.gather(*hanging))

    with listening(hang) as (address, came):
        assert run(call(address)) == ({"DEADLINE_EXCEEDED"}, {"CANCELLED"})
    assert len(came) == 2


def test_where_no_second_connection_can_be_had_calls_wait_for_the_first() -> None:
    first = threading.Event()

    async def one_connection(reader, writer) -> None:
        if first.is_set():
            return
        first.set()
        held: list[tuple[int, bytes]] = []
        server = H2Server(lambda _server, stream, body: held.append((stream, body)))
        server.limit(MAX_CONCURRENT_STREAMS=1)
        talking = asyncio.create_task(talk(server, reader, writer))
        await until(lambda: len(came) > 2)
        server.answer = H2Server.echo
        server.echo(*held.pop())
        writer.write(server.connection.data_to_send())
        await talking

    async def call(address: str) -> list[str]:
        channel = Http2Channel(Address(emulator_host=address), patience_s=0.05)
        codes = await asyncio.gather(*(code_of(channel, timeout_s=60) for _ in range(5)))
        await channel.close()
        return codes

    with listening(one_connection) as (address, came):
        assert run(call(address)) == ["OK"] * 5
