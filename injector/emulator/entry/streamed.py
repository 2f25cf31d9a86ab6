"""Faults and numbers of calls that stream both ways."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing

from injector.emulator.entry.counted import ROUTING, Count, code_of
from injector.emulator.entry.faulty import error_of
from injector.emulator.faults.plan import Effect, Fault, Plan
from injector.emulator.rpc import Code, Converse, Dropped, RpcError
from injector.emulator.timeline import Timeline

Strike = Callable[[str, str], Awaitable[None]]
_EFFECTS = frozenset({Effect.ERROR, Effect.DROP, Effect.HANG, Effect.DELAY})


class Streamed:
    """Does to a streaming call what the plan says when it begins, and counts its end.

    `resource` reads what a call is about from its first message.
    """

    def __init__(
        self,
        method: str,
        inner: Converse,
        resource: Callable[[bytes], str],
        strike: Strike,
        count: Count,
    ) -> None:
        self._method = method
        self._inner = inner
        self._resource = resource
        self._strike = strike
        self._count = count

    async def __call__(
        self, heard: AsyncIterator[bytes], metadata: Mapping[str, str]
    ) -> AsyncGenerator[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        code = Code.OK
        try:
            first = [message async for message in _first(heard)]
            for message in first:
                await self._strike(self._method, self._resource(message))
            async with aclosing(self._inner(_joined(first, heard), metadata)) as said:
                async for message in said:
                    yield message
        except (RpcError, Dropped, asyncio.CancelledError, GeneratorExit) as error:
            code = code_of(error)
            raise
        finally:
            self._count(self._method, code, metadata.get(ROUTING, ""))


def striking(plan: Plan, clock: Timeline) -> Strike:
    """Return what does to a call that begins what the plan says."""

    async def strike(method: str, resource: str) -> None:
        if plan.is_empty:
            return
        short = method.rpartition("/")[2]
        struck = plan.strike(short, resource, now=clock.now(), effects=_EFFECTS)
        await clock.sleep(sum(delay for _, delay in struck))
        for fault, _ in struck:
            await _end(fault)

    return strike


async def _end(fault: Fault) -> None:
    """End a call as the fault wants; a delay lets it go on."""
    if fault.effect is Effect.HANG:
        await asyncio.Event().wait()
    if fault.effect is Effect.DROP:
        raise Dropped(f"dropped by {fault.id}")
    if fault.effect is Effect.ERROR:
        raise error_of(fault)


async def _first(heard: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for message in heard:
        yield message
        return


async def _joined(first: list[bytes], heard: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    for message in first:
        yield message
    async for message in heard:
        yield message
