"""Attempts sent to a raw target, and what came of them."""

import asyncio
from collections.abc import Callable

from injector.emulator.transport import event_loop
from injector.emulator.transport.attempts import Answer, Attempt
from injector.emulator.transport.dispatch_client import DispatchClient
from tests.emulator.raw_target import RawTarget, target


def dispatched(
    script=None, *, attempt: Callable[[str], Attempt] = Attempt, times: int = 1
) -> tuple[list[Answer], RawTarget]:
    """Send an attempt to a target, some times one after the other."""

    async def go() -> tuple[list[Answer], RawTarget]:
        async with target(script) as raw:
            client = DispatchClient()
            answers = [await client.send(attempt(raw.url)) for _ in range(times)]
            client.close()
            return answers, raw

    return event_loop.run(go())


def answer_to(script=None, *, attempt: Callable[[str], Attempt] = Attempt) -> Answer:
    return dispatched(script, attempt=attempt)[0][0]


async def never(reader: asyncio.StreamReader, _writer: object, _request: bytes) -> None:
    await reader.readexactly(1)
