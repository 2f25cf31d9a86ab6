"""Attempts in time and beside each other: deadlines, latency, and the connections they share."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from injector.emulator.transport import event_loop
from injector.emulator.transport.attempts import Answer, Attempt, End
from injector.emulator.transport.dispatch_client import DispatchClient
from tests.emulator.dispatching import never
from tests.emulator.raw_target import OK, target


@dataclass
class HandClock:
    """A clock that moves only when it is told to."""

    now: float = 1000.0
    due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, callback: Callable[[], None], /) -> "HandClock":
        self.due.append((self.now + delay, callback))
        return self

    def cancel(self) -> None:
        """Let what is due come for nothing: an attempt that has ended takes no notice."""

    def advance(self, seconds: float) -> None:
        self.now += seconds
        due, self.due = self.due, []
        for at, callback in due:
            if at <= self.now:
                callback()
            else:
                self.due.append((at, callback))


def test_an_attempt_ends_at_its_deadline_by_the_emulators_clock():
    async def go() -> Answer:
        clock = HandClock()
        async with target(never) as raw:
            client = DispatchClient(timers=clock)
            sending = asyncio.create_task(client.send(Attempt(raw.url, deadline_s=600)))
            await raw.asked.wait()
            clock.advance(599)
            await asyncio.sleep(0)
            assert not sending.done()
            clock.advance(1)
            return await sending

    answer = asyncio.run(go())
    assert (answer.end, answer.status, answer.latency_s) == (End.TIMED_OUT, 0, 600)


def test_latency_counts_in_the_emulators_clock():
    async def go() -> Answer:
        clock = HandClock()

        async def slow(_reader: object, writer: asyncio.StreamWriter, _request: bytes) -> None:
            clock.advance(42)
            writer.write(OK)

        async with target(slow) as raw:
            client = DispatchClient(timers=clock)
            answer = await client.send(Attempt(raw.url))
            client.close()
            return answer

    assert asyncio.run(go()).latency_s == 42


def test_a_cancelled_attempt_hangs_up():
    async def go() -> None:
        gone = asyncio.Event()

        async def until_gone(
            reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _request: bytes
        ) -> None:
            await reader.read()
            gone.set()

        async with target(until_gone) as raw:
            sending = asyncio.create_task(DispatchClient().send(Attempt(raw.url)))
            await raw.asked.wait()
            sending.cancel()
            async with asyncio.timeout(10):
                await gone.wait()
            assert sending.cancelled()

    asyncio.run(go())


def test_no_more_connections_are_open_than_allowed_and_every_attempt_gets_its_turn():
    async def go() -> tuple[list[Answer], int]:
        async with target() as raw:
            client = DispatchClient(most_connections=3)
            answers = await asyncio.gather(*(client.send(Attempt(raw.url)) for _ in range(50)))
            client.close()
            return answers, raw.connections

    answers, connections = asyncio.run(go())
    assert [answer.status for answer in answers] == [200] * 50
    assert connections == 3


async def all_at_once(client: DispatchClient, url: str, count: int) -> list[Answer]:
    return await asyncio.gather(*(client.send(Attempt(url)) for _ in range(count)))


def test_attempts_that_are_due_at_once_share_connections_to_a_fast_target():
    async def go() -> tuple[list[Answer], int]:
        async with target() as raw:
            client = DispatchClient()
            answers = await all_at_once(client, raw.url, 400)
            client.close()
            return answers, raw.connections

    answers, connections = event_loop.run(go())
    assert [answer.status for answer in answers] == [200] * 400
    assert connections < 300


def test_attempts_at_a_slow_target_are_all_under_way_at_once():
    async def go() -> list[Answer]:
        here: list[bytes] = []
        all_here = asyncio.Event()

        async def when_all_are_here(
            _reader: asyncio.StreamReader, writer: asyncio.StreamWriter, request: bytes
        ) -> None:
            here.append(request)
            if len(here) == 100:
                all_here.set()
            await all_here.wait()
            writer.write(OK)

        async with target(when_all_are_here) as raw, asyncio.timeout(20):
            client = DispatchClient()
            answers = await all_at_once(client, raw.url, 100)
            client.close()
            return answers

    assert [answer.status for answer in event_loop.run(go())] == [200] * 100


def test_attempts_that_are_cancelled_while_they_wait_keep_no_other_from_being_sent():
    async def go() -> Answer:
        async with target() as raw, asyncio.timeout(20):
            client = DispatchClient()
            sending = [asyncio.create_task(client.send(Attempt(raw.url))) for _ in range(200)]
            await raw.asked.wait()
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
            answer = await client.send(Attempt(raw.url))
            client.close()
            return answer

    assert event_loop.run(go()).status == 200


def test_a_target_that_is_down_breaks_every_attempt():
    async def go() -> list[Answer]:
        async with asyncio.timeout(20):
            return await all_at_once(DispatchClient(), "http://127.0.0.1:1/", 100)

    assert {answer.end for answer in event_loop.run(go())} == {End.BROKEN}


def test_a_deadline_also_ends_the_wait_for_a_connection():
    async def go() -> list[Answer]:
        clock = HandClock()
        async with target(never) as raw, asyncio.timeout(20):
            client = DispatchClient(timers=clock)
            sending = asyncio.create_task(all_at_once(client, raw.url, 100))
            await raw.asked.wait()
            clock.advance(600)
            return await sending

    assert {answer.end for answer in event_loop.run(go())} == {End.TIMED_OUT}
