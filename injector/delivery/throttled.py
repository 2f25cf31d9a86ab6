"""Adaptive throttling around calls: held back here when the service refuses too many."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from injector.delivery.call import Call, Sender
from injector.delivery.ports import Outcome, Result
from injector.delivery.verdict import all_created, weigh
from injector.pacing.signals import THROTTLED
from injector.pacing.throttle import GroupThrottle

HELD_BACK = Result(
    Outcome.NOT_TAKEN, THROTTLED, "held back here, because the service refuses too many creates"
)


class Throttled:
    """Sends what the throttle admits and tells it how that ended.

    Codes of our own (no token, no time left) say nothing about the service, so it does not
    hear of them. What a sick queue did not take is marked so, and counted apart as well: it is
    no evidence against the group.
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
            return self._marked(call, [HELD_BACK] * creates)
        results = await self._inner.send(call)
        if all_created(results):
            self._throttle.answered(call.queue, now=self._now(), calls=creates)
            return results
        self._learn(call.queue, results)
        return self._marked(call, results)

    def _now(self) -> float:
        """Read the clock to the hundredth of a second: a throttle that rolls less costs less."""
        return self._clock() // 0.01 * 0.01

    def _learn(self, queue: str, results: Sequence[Result]) -> None:
        """Tell the throttle; a queue's refusal of everything is an answer, but no good one."""
        answered, faults = weigh(results)
        refused = sum(result.queue_at_fault for result in results)
        if answered:
            self._throttle.answered(queue, now=self._now(), calls=answered, refused=refused)
        if faults:
            self._throttle.faulted(queue, now=self._now(), calls=sum(faults.values()))

    def _marked(self, call: Call, results: Sequence[Result]) -> Sequence[Result]:
        """Mark what was not taken if the queue is sick."""
        if not self._throttle.sick(call.queue):
            return results
        marked = [replace(each, sick=_refused(each)) for each in results]
        for code, creates in Counter(each.code for each in marked if each.sick).items():
            call.tally.sick(call.queue, code, creates=creates)
        return marked


def _refused(result: Result) -> bool:
    """Tell what the queue refused, or would have, from what was not sent for our own sake."""
    return result.outcome is Outcome.NOT_TAKEN and (result.sent or result.code == THROTTLED)
