"""What the service does to a queue's rate on its own: cold starts and congestion.

No figures are published. What is documented: a queue that is new, idle or resumed, or that
meets many tasks at once, ramps up slowly; 429, 503 and a high rate of errors make the service
back off harder than the queue's own settings, and Retry-After is considered.
"""

from dataclasses import dataclass
from math import ceil, inf

from injector.emulator.state.limits import burst_size


@dataclass(frozen=True, slots=True)
class Dynamics:
    """The curve of a queue's allowed rate; rates per second, spans in seconds.

    A cold queue starts at `cold_rate`. At each `interval_s` in which tasks had to wait for the
    rate, and no more than `error_share` of the attempts failed, the allowed rate grows by
    `growth`, until it reaches the configured one and the queue is warm. It is cold again after
    `idle_s` without a dispatch, and when resumed. Congestion multiplies the allowed rate by
    `cut`, at most once an interval and never below `least_rate`, and the span until the retry
    of the task that met it by `task_backoff`; so does a share of errors above `error_share`,
    from `least_samples` on.
    """

    cold_rate: float = inf
    growth: float = 2.0
    interval_s: float = 1.0
    idle_s: float = 300.0
    cut: float = 1.0
    least_rate: float = 1.0
    task_backoff: float = 1.0
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
        "_attempts",
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
        self._attempts = self._errors = 0

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
            self._grow(configured, now=now)
        return self._allowed != before

    def responded(self, configured: float, *, congested: bool, failed: bool, now: float) -> bool:
        """Take in an attempt's end; tell whether the allowed rate was cut."""
        self._attempts += 1
        self._errors += failed
        many = self._many_errors()
        self._failing = self._failing or many
        if not congested and not many:
            return False
        return self._cut(configured, now=now)

    def backoff_factor(self, *, congested: bool) -> float:
        """Return what a failed task's back-off is multiplied by.

        The documentation names 429, 503 and a high rate of errors in one breath (HttpRequest).
        """
        return self._dynamics.task_backoff if congested or self._failing else 1.0

    def _grow(self, configured: float, *, now: float) -> None:
        if self._starved and not self._many_errors() and self._allowed < configured:
            self._allowed *= self._dynamics.growth
        self._failing = self._many_errors()
        self._evaluated_at = now
        self._starved = False
        self._attempts = self._errors = 0

    def _cut(self, configured: float, *, now: float) -> bool:
        dynamics = self._dynamics
        if dynamics.cut >= 1 or now - self._cut_at < dynamics.interval_s:
            return False
        floor = min(configured, dynamics.least_rate)
        before = self._allowed
        self._allowed = max(floor, min(configured, before) * dynamics.cut)
        self._cut_at = self._evaluated_at = now
        self._attempts = self._errors = 0
        return self._allowed != before

    def _many_errors(self) -> bool:
        enough = self._attempts >= self._dynamics.least_samples
        return enough and self._errors > self._attempts * self._dynamics.error_share
