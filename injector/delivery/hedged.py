"""Hedging around calls: a second copy beside a slow one, and the first success taken."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial

from injector.delivery.call import Call, Sender
from injector.delivery.limited import Turns
from injector.delivery.ports import Outcome, Result
from injector.delivery.verdict import all_created
from injector.pacing.hedge import Action, Cancel, Chain, Hedging, Send, Wake
from injector.pacing.histogram import Histogram
from injector.pacing.signals import NOT_ACCEPTED

LEARN_EVERY = 500

Answer = Sequence[Result]


class Hedged:
    """Sends a call again while it is slow; only what has a name, and no order to keep.

    A task's second create answers ALREADY_EXISTS, which is the first one's success; a message's
    second copy carries the same `injector-id`, by which subscribers drop it. The original
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
        self.alarms = _Alarms(self.loop)
        self._took: list[float] = []

    async def send(self, call: Call) -> Answer:
        """Send the call, and hedges after it as long as it is slow."""
        for create in call.creates:
            if not create.task_id or create.ordering_key:
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
    """One call and its hedges, run as the chain of actions says.

    Hardly any call lives to see the first delay pass, so the chain is begun only then.
    """

    __slots__ = ("_call", "_chain", "_hedged", "_hedges", "_original", "_since", "_won", "over")

    def __init__(self, hedged: Hedged, call: Call, since: float) -> None:
        self.over = False
        self._hedged = hedged
        self._call = call
        self._since = since
        self._original = asyncio.current_task(hedged.loop)
        self._chain: Chain | None = None
        self._hedges: dict[int, asyncio.Task[None]] = {}
        self._won: Answer | None = None

    async def run(self) -> Answer:
        """Return the first success, or the original's end."""
        hedged = self._hedged
        hedged.alarms.set(self._since + hedged.hedging.delay_s, self)
        try:
            answer = await hedged.inner.send(self._call)
            if self._hedges and not _settled(answer):
                await self._await_hedges(answer)
        except asyncio.CancelledError:
            if self._won is None or (self._original and self._original.uncancel()):
                self._end(taken=False)
                raise
            return self._won
        finally:
            self.over = True
        self._end(taken=_taken(answer))
        return answer

    def wake(self) -> None:
        """Hedge if the rules, the throttle and the slots let it."""
        hedged = self._hedged
        if self._chain is None:
            left = self._call.deadline - self._since
            self._chain = hedged.hedging.begin(now=self._since, timeout_s=left)
        spare = hedged.turns.take_spare()
        throttled = not spare or hedged.throttled(self._call.queue)
        actions = self._chain.woke(now=hedged.loop.time(), throttled=throttled)
        if spare and not actions:
            hedged.turns.give_back()
        self._act(actions)

    async def _await_hedges(self, answer: Answer) -> None:
        """Let hedges run on, now that the original has met a fault.

        The one that wins ends this wait as it would have ended the original.
        """
        self.over = True
        while self._hedges and any(one.code in NOT_ACCEPTED for one in answer):
            await asyncio.wait(self._hedges.values(), return_when=asyncio.FIRST_COMPLETED)

    def _act(self, actions: Sequence[Action]) -> None:
        for action in actions:
            if isinstance(action, Wake):
                self._hedged.alarms.set(action.at, self)
            elif isinstance(action, Cancel):
                self._call.tally.cancelled(len(action.attempts))
                self._cancel(action.attempts)
            elif isinstance(action, Send):
                self._send(action)

    def _send(self, send: Send) -> None:
        """Start the hedge; its slot goes back even if it is cancelled before it runs."""
        self._call.tally.hedged()
        hedge = self._hedged.loop.create_task(self._hedge(send))
        self._hedges[send.attempt] = hedge
        hedge.add_done_callback(partial(self._ended, send.attempt))

    def _ended(self, attempt: int, _: object) -> None:
        del self._hedges[attempt]
        self._hedged.turns.give_back()

    async def _hedge(self, send: Send) -> None:
        call = self._call
        until = self._hedged.loop.time() + send.timeout_s
        copy = Call(call.queue, call.creates, until, call.tally)
        answer = await self._hedged.inner.send(copy)
        if self._chain and _taken(answer):
            self._win(self._chain.succeeded(send.attempt), answer)
        elif self._chain:
            self._chain.failed(send.attempt)

    def _win(self, actions: Sequence[Action], answer: Answer) -> None:
        if actions:
            self._won = answer
            self._call.tally.hedged(won=True)
        self._act(actions)

    def _end(self, *, taken: bool) -> None:
        if self._chain:
            self._act(self._chain.succeeded(0) if taken else self._chain.failed(0))
        elif taken:
            self._hedged.hedging.refill()

    def _cancel(self, attempts: Sequence[int]) -> None:
        for attempt in attempts:
            loser = self._hedges.get(attempt) if attempt else self._original
            if loser:
                loser.cancel()


class _Alarms:
    """Wakes races when they are due, by one timer for all of them.

    They are due in the order in which they are set, but for a delay that has changed since; a
    timer for each would cost more than the race.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._due: deque[tuple[float, _Race]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def set(self, at: float, race: _Race) -> None:
        """Wake the race at that time, unless it is over by then."""
        self._drop_over()
        self._due.append((at, race))
        if self._timer is None:
            self._timer = self._loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        now = self._loop.time()
        self._drop_over()
        while self._due and self._due[0][0] <= now:
            self._due.popleft()[1].wake()
            self._drop_over()
        if self._due and self._timer is None:
            self._timer = self._loop.call_at(self._due[0][0], self._ring)

    def _drop_over(self) -> None:
        while self._due and self._due[0][1].over:
            self._due.popleft()


def _taken(answer: Answer) -> bool:
    return all_created(answer) or all(
        one.outcome in (Outcome.CREATED, Outcome.EXISTED) for one in answer
    )


def _settled(answer: Answer) -> bool:
    return all(one.outcome is not Outcome.NOT_TAKEN for one in answer)
