"""The numbers that a verdict on a queue rests on, each a formula over its latest minutes."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from injector.pacing.limiter import throughput
from injector.queues.diagnosis.codes import CONGESTION, OVERLOAD
from injector.queues.diagnosis.evidence import MINUTE_S, Minute, QueueEvidence


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where well ends. Shares are of 1, spans in seconds.

    Tasks wait once they leave `late_s` behind their time, with at least half of that in the
    queue. A limit is reached from its share `at_limit` on, and a queue is warm that has come up
    to `warm` of what its limits allow. Attempts and creates are judged by their share of
    `failing` and `refused`, from `least` on; rates that differ by less than `flat` are flat.
    """

    late_s: float = 5.0
    at_limit: float = 0.9
    in_use: float = 0.85
    warm: float = 0.85
    failing: float = 0.05
    refused: float = 0.01
    least: int = 20
    flat: float = 0.1
    idle_minutes: int = 3
    starved_minutes: int = 5
    recovery_minutes: int = 10


@dataclass(frozen=True, slots=True)
class Figures:
    """A queue's numbers now, or those of several queues together.

    `rate` is dispatched a second, `limit` what the settings allow. `late_s`, `depth` and
    `latency_s` are None where they are not known, and so are `in_flight`, which is rate
    times latency, and `capacity`, which is concurrency / latency (Little's law).
    """

    rate: float
    limit: float
    concurrency: int
    attempts: Mapping[str, int]
    late_s: float | None = None
    depth: float | None = None
    latency_s: float | None = None
    depth_change: float | None = None

    @property
    def in_flight(self) -> float | None:
        """Return how many attempts are under way."""
        return None if self.latency_s is None else self.rate * self.latency_s

    @property
    def capacity(self) -> float | None:
        """Return how many a second the concurrency lets through."""
        return self.concurrency / self.latency_s if self.latency_s else None

    @property
    def possible(self) -> float:
        """Return how many a second the settings let through: the lesser of both limits."""
        return throughput(self.limit, self.concurrency, self.latency_s or 0.0)

    def share(self, codes: frozenset[str]) -> float:
        """Return which share of the attempts ended by these codes."""
        whole = sum(self.attempts.values())
        return sum(self.attempts.get(code, 0) for code in codes) / whole if whole else 0.0

    @property
    def failing(self) -> float:
        """Return the share of attempts that met an overloaded target."""
        return self.share(OVERLOAD)

    @property
    def congested(self) -> float:
        """Return the share of attempts that make the service slow down at once."""
        return self.share(CONGESTION)


def figures_of(queue: QueueEvidence, bounds: Bounds) -> Figures:
    """Return a queue's numbers over its latest minutes."""
    latency_s = queue.latency.mean_s if queue.latency else None
    possible = throughput(queue.rate, queue.concurrency, latency_s or 0.0)
    steady = queue.minutes[-_span(possible, bounds) :]
    depths = [minute.depth for minute in queue.minutes[-5:] if minute.depth is not None]
    return Figures(
        rate=sum(minute.left for minute in steady) / (MINUTE_S * max(1, len(steady))),
        limit=queue.rate,
        concurrency=queue.concurrency,
        attempts=_attempts(queue.minutes, bounds),
        late_s=late(queue.minutes[-2:]),
        depth=depths[-1] if depths else None,
        latency_s=latency_s,
        depth_change=depths[-1] - depths[0] if depths else None,
    )


def together(several: Sequence[Figures]) -> Figures:
    """Return the numbers of several queues as those of one."""
    attempts: Counter[str] = Counter()
    for each in several:
        attempts.update(each.attempts)
    return Figures(
        rate=sum(each.rate for each in several),
        limit=sum(each.limit for each in several),
        concurrency=sum(each.concurrency for each in several),
        attempts=dict(attempts),
        late_s=_weighted([(each.late_s, each.rate) for each in several]),
        depth=_sum([each.depth for each in several]),
        latency_s=_weighted([(each.latency_s, each.rate) for each in several]),
        depth_change=_sum([each.depth_change for each in several]),
    )


def late(minutes: Sequence[Minute]) -> float | None:
    """Return how late the attempts of some minutes left; None when none did."""
    return _weighted([(minute.late_s, minute.left) for minute in minutes])


def waits(figures: Figures, bounds: Bounds) -> bool:
    """Tell whether tasks wait that are due: they leave late, and there are more of them.

    Where tasks leave late, as many as rate times lateness must be waiting (Little's law); a burst
    that is over has left late as well, and nothing is left of it.
    """
    if figures.late_s is None or figures.late_s < bounds.late_s:
        return False
    return figures.depth is None or figures.depth >= figures.rate * bounds.late_s / 2


def _span(possible: float, bounds: Bounds) -> int:
    """Return how many minutes tell a rate: more than one where few attempts make a minute."""
    return max(1, min(5, math.ceil(bounds.least / (MINUTE_S * max(possible, 1e-9)))))


def _attempts(minutes: Sequence[Minute], bounds: Bounds) -> Mapping[str, int]:
    """Count the attempts of two minutes, or of up to five where they are few."""
    found: Counter[str] = Counter()
    for back, minute in enumerate(reversed(minutes[-5:])):
        if back >= 2 and found.total() >= bounds.least:
            break
        found.update(minute.attempts)
    return dict(found)


def _weighted(values: Sequence[tuple[float | None, float]]) -> float | None:
    known = [(value, weight) for value, weight in values if value is not None]
    weights = sum(weight for _, weight in known)
    if not weights:
        return known[0][0] if known else None
    return sum(value * weight for value, weight in known) / weights


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
