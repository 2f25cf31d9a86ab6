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
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._loop = asyncio.get_running_loop()

    def take_spare(self) -> bool:
        """Take a slot if that makes nobody wait."""
        return not self._waiting and self._slots.take()

    async def take(self, deadline: float) -> bool:
        """Wait for a slot until the deadline; say whether there is one."""
        return self.take_spare() or await self._wait(deadline)

    def give_back(self) -> None:
        """Free a slot, for the one who waits longest."""
        self._slots.give_back()
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(self._slots.take())
                return

    async def _wait(self, deadline: float) -> bool:
        turn: asyncio.Future[bool] = self._loop.create_future()
        self._waiting.append(turn)
        timer = self._loop.call_at(deadline, _give_up, turn)
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.result():
                self.give_back()
            raise
        finally:
            timer.cancel()


class Limited:
    """Sends a call once there is a slot for it, and measures the wait apart from the call."""

    def __init__(self, inner: Sender, *, turns: Turns) -> None:
        self._inner = inner
        self._turns = turns
        self._now = asyncio.get_running_loop().time

    async def send(self, call: Call) -> Sequence[Result]:
        """Wait for a slot, then send."""
        since = self._now()
        if not await self._turns.take(call.deadline):
            return [LATE] * len(call.creates)
        call.tally.waited(self._now() - since)
        try:
            return await self._inner.send(call)
        finally:
            self._turns.give_back()


def _give_up(turn: "asyncio.Future[bool]") -> None:
    if not turn.done():
        turn.set_result(False)
