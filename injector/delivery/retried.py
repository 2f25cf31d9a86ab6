"""The one layer that tries again: what was not taken, and only where that can help."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from tenacity import AsyncRetrying, RetryCallState, retry_if_result

from injector.delivery.call import Call, Sender
from injector.delivery.ports import Result
from injector.delivery.verdict import all_created, weigh
from injector.pacing.backoff import Backoff
from injector.pacing.signals import THROTTLED
from injector.pacing.throttle import GroupRetryTokens


class Retried:
    """Sends what was not taken again, after a wait with full jitter, inside the deadline.

    gRPC's own retries are off and the client library is not used, so the calls made for a
    create are at most `backoff.attempts`, hedges apart. Each queue has its own tokens, and all
    have a cap: where most creates fail, none is tried again. A retry that the throttle holds
    back leaves the fault that made it necessary, which says more.
    """

    def __init__(
        self, inner: Sender, *, backoff: Backoff, codes: frozenset[str], draw: Callable[[], float]
    ) -> None:
        self._inner = inner
        self._backoff = backoff
        self._codes = codes
        self._draw = draw
        self._tokens = GroupRetryTokens()
        self._now = asyncio.get_running_loop().time

    async def send(self, call: Call) -> Sequence[Result]:
        """Send the call, and then what was not taken."""
        results = await self._inner.send(call)
        if all_created(results):
            self._tokens.answered(call.queue)
            return results
        self._learn(call, results)
        return await self._retry(call, list(results)) if self._again(call, results) else results

    async def _retry(self, call: Call, results: list[Result]) -> Sequence[Result]:
        """Let tenacity go on from the first attempt, which it is given as made."""
        waits = _Waits(self._backoff, lambda: call.deadline - self._now(), self._draw)

        async def attempt() -> Sequence[Result]:
            if waits.failed:
                await self._send_rest(call, results)
            return results

        return await AsyncRetrying(
            retry=retry_if_result(lambda ends: self._again(call, ends)),
            wait=waits.next_s,
            stop=waits.over,
            retry_error_callback=lambda _: results,
        )(attempt)

    async def _send_rest(self, call: Call, results: list[Result]) -> None:
        left = [number for number, result in enumerate(results) if result.code in self._codes]
        rest = replace(call, creates=[call.creates[number] for number in left])
        ends = await self._inner.send(rest)
        self._learn(rest, ends)
        for number, result in zip(left, ends, strict=True):
            if result.code != THROTTLED:
                results[number] = result

    def _learn(self, call: Call, results: Sequence[Result]) -> None:
        answered, faults = weigh(results)
        if faults:
            self._tokens.faulted(call.queue)
        elif answered:
            self._tokens.answered(call.queue)

    def _again(self, call: Call, results: Sequence[Result]) -> bool:
        left = any(result.code in self._codes for result in results)
        return left and self._tokens.allowed(call.queue)


class _Waits:
    """The waits between the attempts of one call; tenacity asks for the next, then for the end."""

    def __init__(
        self, backoff: Backoff, left_s: Callable[[], float], draw: Callable[[], float]
    ) -> None:
        self._backoff = backoff
        self._left_s = left_s
        self._draw = draw
        self._next: float | None = None
        self.failed = 0

    def next_s(self, state: RetryCallState) -> float:
        self.failed = state.attempt_number
        self._next = self._backoff.wait_s(self.failed, left_s=self._left_s(), draw=self._draw())
        return self._next or 0.0

    def over(self, _: RetryCallState) -> bool:
        return self._next is None
