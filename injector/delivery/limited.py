"""Bounded concurrency: no more calls on their way than the line carries."""

import asyncio
from collections import deque
from collections.abc import Sequence

from injector.delivery.call import Call, Sender
from injector.delivery.ports import Result
from injector.delivery.verdict import LATE
from injector.pacing.limiter import Slots


class Turns:
    """Hands out a process's slots, first come first served; lives on one loop."""

    def __init__(self, limit: int) -> None:
        self._slots = Slots(limit)
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._loop = asyncio.get_running_loop()

    def take_spare(self) -> bool:
        """Take a slot if that makes nobody wait."""
        return not self._waiting and self._slots.take()

    async def take(self) -> None:
        """Take a slot, if need be after a wait; whoever will wait no longer is cancelled."""
        if not self.take_spare():
            await self._wait()

    async def _wait(self) -> None:
        turn: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give_back()
            raise

    def give_back(self) -> None:
        """Hand a slot on to the one who waits longest, or free it."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._slots.give_back()


class Limited:
    """Sends a call once there is a slot for it, and measures the wait apart from the call."""

    def __init__(self, inner: Sender, *, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns
        self._now = asyncio.get_running_loop().time

    async def send(self, call: Call) -> Sequence[Result]:
        """Wait for a slot, then send."""
        now = since = self._now()
        if not self._turns.take_spare():
            await self._turns.take()
            now = self._now()
        call.tally.waited(now - since)
        try:
            if now >= call.deadline:
                return [LATE] * len(call.creates)
            return await self._inner.send(call)
        finally:
            self._turns.give_back()
