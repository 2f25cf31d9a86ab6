"""An attempt's way to its target, with the faults of the plan."""

import asyncio
from typing import Protocol

from injector.emulator.faults.plan import DISPATCH, Effect, Plan
from injector.emulator.timeline import Timeline
from injector.emulator.transport.attempts import Answer, Attempt, End

_EFFECTS = frozenset({Effect.DELAY, Effect.DUPLICATE, Effect.DROP, Effect.LOST})


class Client(Protocol):
    """Sends a request; whatever happens is an Answer."""

    async def send(self, attempt: Attempt) -> Answer:
        """Send it and wait for its end."""


class Delivery:
    """Delivers attempts, some of them late, twice, not at all, or without taking the answer."""

    def __init__(self, client: Client, plan: Plan, clock: Timeline) -> None:
        self._client = client
        self._plan = plan
        self._clock = clock

    async def __call__(self, task: str, request: Attempt) -> Answer:
        """Send an attempt of a task and wait for its end."""
        if self._plan.is_empty:
            return await self._client.send(request)
        now = self._clock.now()
        struck = self._plan.strike(DISPATCH, task, now=now, effects=_EFFECTS)
        await self._clock.sleep(sum(delay_s for _, delay_s in struck))
        return await self._send(request, frozenset(fault.effect for fault, _ in struck))

    async def _send(self, request: Attempt, effects: frozenset[Effect]) -> Answer:
        if Effect.DROP in effects:
            return Answer(End.BROKEN, reason="dropped by the plan")
        if Effect.DUPLICATE in effects:
            both = await asyncio.gather(self._client.send(request), self._client.send(request))
            answer = both[0]
        else:
            answer = await self._client.send(request)
        if Effect.LOST in effects:
            return Answer(End.BROKEN, reason="its answer was lost by the plan")
        return answer
