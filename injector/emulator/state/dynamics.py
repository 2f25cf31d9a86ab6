"""What the service does to a queue's rate on its own: cold starts and congestion.

No figures are published. What is documented: a queue that is new, idle or resumed, that recovers
from 429 or 5xx answers, or that meets many tasks at once, ramps up slowly, while the target
answers 2xx; 429 and 5xx lower its rate; after 429, 503 or at a high rate of errors its tasks wait
longer than the queue's own settings say, and Retry-After is considered.
"""

from dataclasses import dataclass
from math import ceil, inf

from injector.emulator.state.limits import burst_size


@dataclass(frozen=True, slots=True)
class Dynamics:
    """The curve of a queue's allowed rate; rates per second, spans in seconds.

    A cold queue starts at `cold_rate`. At each `interval_s` in which tasks had to wait for the
    rate and the target answered well, the allowed rate grows by `growth`, until it reaches the
    configured one and the queue is warm. It is cold again after `idle_s` without a dispatch, and
    when resumed. The allowed rate is multiplied by `cut`, at most once an interval and never
    below `least_rate`, by an answer that asks for it, by congestion in `congested_share` of the
    interval's attempts, and by errors in more than `error_share` of them, from `least_samples`
    on; after an interval in which congestion had such a share, the queue is cold again. A task
    whose answer asks for it, or that fails while most do, waits `task_backoff` times as long.
    """

    cold_rate: float = inf
    growth: float = 2.0
    interval_s: float = 1.0
    idle_s: float = 300.0
    cut: float = 1.0
    least_rate: float = 1.0
    task_backoff: float = 1.0
    congested_share: float = 0.05
    error_share: float = 0.5
    least_samples: int = 50


OFF = Dynamics()
"""No dynamics: a queue dispatches as configured from its first task on."""

GENTLE = Dynamics(cold_rate=50.0, cut=0.5, least_rate=10.0, task_backoff=3.0)
"""Seconds instead of minutes, so that one sees the effect without waiting for it."""

FAITHFUL = Dynamics(
    cold_rate=1.0, growth=1.5, interval_s=10.0, cut=0.5, task_backoff=3.0, least_samples=20
)
"""Closest to what is told of production: about 1/s at first, and 500/s after 2.6 minutes."""

PRESETS = {"off": OFF, "gentle": GENTLE, "faithful": FAITHFUL}


class Pace:
    """The rate that the service allows a queue at the moment, at most the configured one."""

    __slots__ = (
        "_allowed",
        "_asked",
        "_attempts",
        "_congested",
        "_cut_at",
        "_dynamics",
        "_errors",
        "_evaluated_at",
        "_failing",
        "_last_dispatch_at",
        "_starved",
    )

    def __init__(self, dynamics: Dynamics, *, now: float) -> None:
        self._dynamics = dynamics
        self._cut_at = -inf
        self.chill(now=now)

    def chill(self, *, now: float) -> None:
        """Start again from the cold rate."""
        self._allowed = self._dynamics.cold_rate
        self._evaluated_at = now
        self._last_dispatch_at = now
        self._starved = self._failing = False
        self._count_anew()

    def rate(self, configured: float) -> float:
        """Return the rate in force."""
        return min(configured, self._allowed)

    def burst(self, configured: float) -> float:
        """Return the bucket's size in force: a cold queue cannot burst either."""
        whole = burst_size(configured)
        return whole if self._allowed >= configured else min(whole, max(1, ceil(self._allowed)))

    def dispatched(self, *, now: float) -> None:
        """Note that a task left."""
        self._last_dispatch_at = now

    def starved(self) -> None:
        """Note that a task that was due had to wait for the rate."""
        self._starved = True

    def evaluate(self, configured: float, *, now: float) -> bool:
        """Raise, keep or reset the allowed rate; tell whether it changed."""
        before = self._allowed
        if before is inf:
            return False
        if now - self._last_dispatch_at >= self._dynamics.idle_s:
            self.chill(now=now)
        elif now - self._evaluated_at >= self._dynamics.interval_s:
            self._end_interval(configured, now=now)
        return self._allowed != before

    def responded(
        self, configured: float, *, failed: bool, now: float, congested: bool, asked: bool = True
    ) -> bool:
        """Take in an attempt's end; tell whether the allowed rate was cut.

        It may be `congested`, and then have `asked` for a slower rate in so many words or not.
        """
        self._attempts += 1
        self._errors += failed
        self._congested += congested
        if congested and asked:
            self._asked = True
        many = self._are_many(self._errors)
        self._failing = self._failing or many
        if (congested and self._is_congested()) or many:
            return self._cut(configured, now=now)
        return False

    def backoff_factor(self, *, asked: bool) -> float:
        """Return what a failed task's back-off is multiplied by, `asked` for by its answer or not.

        The documentation names 429, 503 and a high rate of errors in one breath (HttpRequest).
        """
        return self._dynamics.task_backoff if asked or self._failing else 1.0

    def _end_interval(self, configured: float, *, now: float) -> None:
        if self._are_many(self._congested):
            self._allowed = min(self._allowed, self._dynamics.cold_rate)
        elif self._starved and self._is_served() and self._allowed < configured:
            self._allowed *= self._dynamics.growth
        self._failing = self._are_many(self._errors)
        self._evaluated_at = now
        self._starved = False
        self._count_anew()

    def _cut(self, configured: float, *, now: float) -> bool:
        dynamics = self._dynamics
        if dynamics.cut >= 1 or now - self._cut_at < dynamics.interval_s:
            return False
        floor = min(configured, dynamics.least_rate)
        before = self._allowed
        self._allowed = max(floor, min(configured, before) * dynamics.cut)
        self._cut_at = self._evaluated_at = now
        self._count_anew()
        return self._allowed != before

    def _is_served(self) -> bool:
        """Tell whether the target answers well, so that the rate may grow."""
        most = self._attempts * self._dynamics.error_share
        return not self._is_congested() and self._errors <= most

    def _is_congested(self) -> bool:
        most = self._attempts * self._dynamics.congested_share
        return self._asked or (self._congested > 0 and self._congested >= most)

    def _are_many(self, number: int) -> bool:
        enough = self._attempts >= self._dynamics.least_samples
        return enough and number > self._attempts * self._dynamics.error_share

    def _count_anew(self) -> None:
        self._attempts = self._errors = self._congested = 0
        self._asked = False
