"""Whether a queue is still coming up from a cold start."""

import math
from collections.abc import Sequence

from injector.queues.diagnosis.codes import OVERLOAD
from injector.queues.diagnosis.evidence import Minute, QueueEvidence
from injector.queues.diagnosis.figures import Bounds, Figures


def start_of(minutes: Sequence[Minute], bounds: Bounds) -> int | None:
    """Return the minute in which the queue last began to dispatch again; None if it never did.

    It did after some minutes without a dispatch, or after one in which tasks were held back, as
    they are in a paused queue; or it is new, and has no minute before.
    """
    for index in range(len(minutes) - 1, 0, -1):
        if not minutes[index].left:
            continue
        gap = _gap_before(minutes, index)
        if len(gap) >= bounds.idle_minutes or any(minute.depth for minute in gap):
            return index
        if gap and len(gap) == index:
            return index
    return None


def is_warm_since(minutes: Sequence[Minute], start: int, possible: float, bounds: Bounds) -> bool:
    """Tell whether the queue has come near to what its settings allow since then."""
    return any(minute.rate >= bounds.warm * possible for minute in minutes[start:])


def climbs(minutes: Sequence[Minute], bounds: Bounds) -> bool:
    """Tell whether the rate goes up from minute to minute."""
    if len(minutes) < 2 or not minutes[-2].left:
        return False
    return minutes[-1].rate > (1 + bounds.flat) * minutes[-2].rate


def is_flat(minutes: Sequence[Minute], bounds: Bounds) -> bool:
    """Tell whether the rate has stayed the same for three minutes, but for a single attempt."""
    rates = [minute.left for minute in minutes[-3:]]
    if len(rates) < 3 or not all(rates):
        return False
    return max(rates) - min(rates) <= 1 + bounds.flat * min(rates)


def failed_lately(queue: QueueEvidence, bounds: Bounds) -> bool:
    """Tell whether the target was overloaded in the last minutes, be it over or not."""
    latest = queue.minutes[-bounds.recovery_minutes :]
    return any(minute.attempts.get(code) for minute in latest for code in OVERLOAD)


def minutes_left(minutes: Sequence[Minute], figures: Figures) -> float | None:
    """Return in how many minutes a climbing queue is warm at this pace; None if it cannot be told.

    Once a minute holds many of the service's steps, the last two of them tell its growth.
    """
    before, now = minutes[-2].rate, minutes[-1].rate
    if not 0 < before < now < figures.possible:
        return None
    return math.log(figures.possible / now) / math.log(now / before)


def _gap_before(minutes: Sequence[Minute], index: int) -> Sequence[Minute]:
    first = index
    while first and not minutes[first - 1].left:
        first -= 1
    return minutes[first:index]
