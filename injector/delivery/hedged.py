"""Hedging around calls: a second copy beside a slow one, and the first success taken."""

import asyncio
from collections.abc import Callable, Sequence

from injector.delivery.call import Call, Sender
from injector.delivery.limited import Turns
from injector.delivery.ports import Outcome, Result
from injector.pacing.hedge import Action, Cancel, Hedging, Send, Wake
from injector.pacing.histogram import Histogram
from injector.pacing.signals import NOT_ACCEPTED

LEARN_EVERY = 500

Answer = Sequence[Result]


class Hedged:
    """Sends a call again while it is slow; only for creates that have a name.

    Their second create answers ALREADY_EXISTS, which is the first one's success. The original
    runs in its caller's task; a hedge that wins interrupts it there, as a time-out would. A
    hedge takes a spare slot or is not sent: a client that is starved gains nothing by it.
    """

    def __init__(
        self, inner: Sender, *, hedging: Hedging, turns: Turns, throttled: Callable[[str], bool]
    ) -> None:
        self.inner = inner
        self.hedging = hedging
        self.turns = turns
        self.throttled = throttled
        self.loop = asyncio.get_running_loop()
        self._took: list[float] = []

    async def send(self, call: Call) -> Answer:
        """Send the call, and hedges after it as long as it is slow."""
        if not all(create.task_id for create in call.creates):
            return await self.inner.send(call)
        since = self.loop.time()
        answer = await _Race(self, call, since).run()
        self._learn(self.loop.time() - since)
        return answer

    def _learn(self, took_s: float) -> None:
        """Let the delay follow what nineteen of twenty calls take."""
        self._took.append(took_s)
        if len(self._took) >= LEARN_EVERY:
            p95 = Histogram.of(self._took).quantile_s(0.95)
            self._took.clear()
            if p95 is not None:
                self.hedging.follow(p95)


class _Race:
    """One call and its hedges, run as the chain of actions says."""

    def __init__(self, hedged: Hedged, call: Call, since: float) -> None:
        self._hedged = hedged
        self._loop = hedged.loop
        self._call = call
        self._original = asyncio.current_task(self._loop)
        self._chain = hedged.hedging.begin(now=since, timeout_s=call.deadline - since)
        self._timer: asyncio.TimerHandle | None = None
        self._hedges: dict[int, asyncio.Task[None]] = {}
        self._won: Answer | None = None

    async def run(self) -> Answer:
        """Return the first success, or the original's end."""
        self._act(self._chain.first)
        try:
            answer = await self._hedged.inner.send(self._call)
            if _worth_waiting(answer):
                await self._await_hedges()
        except asyncio.CancelledError:
            if self._won is None or (self._original and self._original.uncancel()):
                self._act(self._chain.failed(0))
                raise
            return self._won
        finally:
            self._disarm()
        self._act(self._chain.succeeded(0) if _taken(answer) else self._chain.failed(0))
        return answer

    async def _await_hedges(self) -> None:
        """Give hedges the time they have, now that the original has come to nothing.

        The one that wins ends this wait as it would have ended the original.
        """
        self._disarm()
        while self._hedges:
            await asyncio.wait(self._hedges.values(), return_when=asyncio.FIRST_COMPLETED)

    def _act(self, actions: Sequence[Action]) -> None:
        for action in actions:
            if isinstance(action, Wake):
                self._timer = self._loop.call_at(action.at, self._wake)
            elif isinstance(action, Cancel):
                self._cancel(action.attempts)
            elif isinstance(action, Send) and action.attempt:
                self._hedges[action.attempt] = self._loop.create_task(self._hedge(action))

    def _wake(self) -> None:
        spare = self._hedged.turns.take_spare()
        throttled = not spare or self._hedged.throttled(self._call.queue)
        actions = self._chain.woke(now=self._loop.time(), throttled=throttled)
        if spare and not actions:
            self._hedged.turns.give_back()
        self._act(actions)

    async def _hedge(self, send: Send) -> None:
        self._call.tally.hedged()
        call = self._call
        until = self._loop.time() + send.timeout_s
        try:
            answer = await self._hedged.inner.send(
                Call(call.queue, call.creates, until, call.tally)
            )
        finally:
            self._hedged.turns.give_back()
            self._hedges.pop(send.attempt, None)
        if _taken(answer):
            self._win(send.attempt, answer)
        else:
            self._chain.failed(send.attempt)

    def _win(self, attempt: int, answer: Answer) -> None:
        actions = self._chain.succeeded(attempt)
        if actions:
            self._won = answer
            self._call.tally.hedged(won=True)
        self._act(actions)

    def _cancel(self, attempts: Sequence[int]) -> None:
        for attempt in attempts:
            loser = self._hedges.get(attempt) if attempt else self._original
            if loser:
                loser.cancel()

    def _disarm(self) -> None:
        if self._timer:
            self._timer.cancel()


def _taken(answer: Answer) -> bool:
    return all(one.outcome in (Outcome.CREATED, Outcome.EXISTED) for one in answer)


def _worth_waiting(answer: Answer) -> bool:
    return any(one.code in NOT_ACCEPTED for one in answer)
