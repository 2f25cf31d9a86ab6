"""Adaptive throttling around calls: held back here when the service refuses too many."""

from collections.abc import Callable, Sequence

from injector.delivery.call import Call, Sender
from injector.delivery.ports import THROTTLED, Outcome, Result
from injector.delivery.verdict import all_created, weigh
from injector.pacing.throttle import GroupThrottle

HELD_BACK = Result(
    Outcome.NOT_TAKEN, THROTTLED, "held back here, because the service refuses too many creates"
)


class Throttled:
    """Sends what the throttle admits and tells it how that ended.

    Codes of our own (no token, no time left) say nothing about the service, so it does not
    hear of them.
    """

    def __init__(
        self,
        inner: Sender,
        *,
        throttle: GroupThrottle,
        now: Callable[[], float],
        draw: Callable[[], float],
    ) -> None:
        self._inner = inner
        self._throttle = throttle
        self._clock = now
        self._draw = draw

    async def send(self, call: Call) -> Sequence[Result]:
        """Send the call, or hold it back."""
        creates = len(call.creates)
        if not self._throttle.admit(call.queue, now=self._now(), draw=self._draw(), calls=creates):
            call.tally.rejected(creates=creates)
            return [HELD_BACK] * creates
        results = await self._inner.send(call)
        if all_created(results):
            self._throttle.answered(call.queue, now=self._now(), calls=creates)
        else:
            self._learn(call.queue, results)
        return results

    def _now(self) -> float:
        """Read the clock to the hundredth of a second: a throttle that rolls less costs less."""
        return self._clock() // 0.01 * 0.01

    def _learn(self, queue: str, results: Sequence[Result]) -> None:
        answered, faults = weigh(results)
        if answered:
            self._throttle.answered(queue, now=self._now(), calls=answered)
        if faults:
            self._throttle.faulted(queue, now=self._now(), calls=sum(faults.values()))
