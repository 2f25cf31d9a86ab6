"""Faults of the plan, done to calls."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from injector.emulator.faults.plan import Effect, Fault, Plan
from injector.emulator.rpc import Code, Dropped, Handle, RpcError
from injector.emulator.timeline import Timeline

_EFFECTS = frozenset(
    {
        Effect.ERROR,
        Effect.LOST,
        Effect.LATE,
        Effect.DROP,
        Effect.DROP_AFTER,
        Effect.HANG,
        Effect.DELAY,
    }
)


class Faulty:
    """Does to calls what the plan says; without faults it costs nothing.

    `resource` reads which queue or task a request is about.
    """

    def __init__(
        self,
        inner: Handle,
        plan: Plan,
        clock: Timeline,
        resource: Callable[[str, bytes], str],
    ) -> None:
        self._inner = inner
        self._plan = plan
        self._clock = clock
        self._resource = resource

    def __call__(
        self, method: str, request: bytes, metadata: Mapping[str, str]
    ) -> bytes | Awaitable[bytes]:
        """Answer a call; raises RpcError or Dropped."""
        if self._plan.is_empty:
            return self._inner(method, request, metadata)
        short, resource = method.rpartition("/")[2], self._resource(method, request)
        struck = self._plan.strike(short, resource, now=self._clock.now(), effects=_EFFECTS)
        if not struck:
            return self._inner(method, request, metadata)
        delay_s = sum(delay for _, delay in struck)
        faults = [fault for fault, _ in struck if fault.effect is not Effect.DELAY]
        return self._strike(lambda: self._inner(method, request, metadata), faults, delay_s)

    async def _strike(
        self, call: Callable[[], bytes | Awaitable[bytes]], faults: list[Fault], delay_s: float
    ) -> bytes:
        """Wait, and then carry the call out or not, and answer it or not.

        The first fault that ends a call decides. What is lost is carried out at once, so that
        a caller who has given up meanwhile finds it done.
        """
        if not faults:
            await self._clock.sleep(delay_s)
            return await _answered(call())
        if faults[0].effect is Effect.LATE:
            answer = await _answered(call())
            await self._clock.sleep(delay_s)
            return answer
        if faults[0].effect not in (Effect.ERROR, Effect.DROP):
            with suppress(RpcError):
                await _answered(call())
        await self._clock.sleep(delay_s)
        return await _end(faults[0])


async def _end(fault: Fault) -> bytes:
    """End a call as the fault wants."""
    if fault.effect is Effect.HANG:
        await asyncio.Event().wait()
    if fault.effect in (Effect.DROP, Effect.DROP_AFTER):
        raise Dropped(f"dropped by {fault.id}")
    raise error_of(fault)


def error_of(fault: Fault) -> RpcError:
    """Return the error that a fault ends a call with."""
    return RpcError(fault.code, fault.message or _TEXTS.get(fault.code, "Injected by the plan."))


async def _answered(answer: bytes | Awaitable[bytes]) -> bytes:
    return answer if isinstance(answer, bytes) else await answer


_TEXTS = {
    Code.UNAVAILABLE: "The service is currently unavailable.",
    Code.DEADLINE_EXCEEDED: "Deadline Exceeded",
    Code.RESOURCE_EXHAUSTED: "Quota exceeded, or the queue is overloaded. Please try again later.",
    Code.INTERNAL: "Internal error encountered.",
}
