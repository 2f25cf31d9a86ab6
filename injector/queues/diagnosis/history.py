"""How much queues have had to do: whether they are high-TPS ones, and their peaks."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from injector.queues.diagnosis.codes import OK
from injector.queues.diagnosis.evidence import Minute

HIGH_TPS_QUEUE = 500.0
HIGH_TPS_GROUP = 2000.0


@dataclass(frozen=True, slots=True)
class Peak:
    """The highest rate in tasks per second, and when its span ended; 0 at 0 if there was none."""

    rate: float = 0.0
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class History:
    """The peaks of a group and its queues; each number is a mean over `step_s` seconds.

    Creates are not counted by queue: they are what has been done and what has come to wait, so
    that tasks deleted are missed.
    """

    dispatched: Peak
    created: Peak
    high_queues: tuple[str, ...]
    queue_peaks: Mapping[str, Peak]
    step_s: float

    @property
    def is_high_tps_group(self) -> bool:
        """Tell whether the group had 2,000 creates or dispatches a second in all."""
        return max(self.dispatched.rate, self.created.rate) >= HIGH_TPS_GROUP


def history(steps: Mapping[str, Sequence[Minute]], *, step_s: float) -> History:
    """Return the peaks of what was measured of the queues in steps of so many seconds."""
    dispatched = {queue: _dispatched(rows, step_s) for queue, rows in steps.items()}
    created = {queue: _created(rows, step_s) for queue, rows in steps.items()}
    peaks = {
        queue: max(_peak(dispatched[queue]), _peak(created[queue]), key=lambda peak: peak.rate)
        for queue in steps
    }
    high = tuple(queue for queue, peak in peaks.items() if peak.rate >= HIGH_TPS_QUEUE)
    return History(
        _peak(_added(dispatched.values())), _peak(_added(created.values())), high, peaks, step_s
    )


def _dispatched(rows: Sequence[Minute], step_s: float) -> dict[float, float]:
    return {row.at: max(row.left, sum(row.attempts.values())) / step_s for row in rows}


def _created(rows: Sequence[Minute], step_s: float) -> dict[float, float]:
    """Return what was created: what succeeded, and what the queue has grown by."""
    return {
        row.at: max(0.0, row.attempts.get(OK, 0) + row.depth - before.depth) / step_s
        for before, row in pairwise(rows)
        if row.depth is not None and before.depth is not None
    }


def _added(many: Iterable[Mapping[float, float]]) -> dict[float, float]:
    total: dict[float, float] = defaultdict(float)
    for rates in many:
        for at, rate in rates.items():
            total[at] += rate
    return total


def _peak(rates: Mapping[float, float]) -> Peak:
    at = max(rates, key=lambda at: rates[at], default=None)
    return Peak() if at is None or not rates[at] else Peak(rates[at], at)
