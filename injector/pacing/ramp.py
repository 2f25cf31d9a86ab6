"""The 500/50/5 curve: how fast a group may create, as closed forms of time.

Rates are injector tasks per second, each worth a hundred creates; times are seconds since the
curve began. Nothing here steps through time, so a question about a billion tasks costs as much
as one about ten.
"""

import math
from dataclasses import dataclass, replace

SAFE_INITIAL_RATE = 5.0
SAFE_GROWTH = 1.5
SAFE_INTERVAL_S = 300.0
QUEUE_MAX_RATE = 500.0
CHUNK = 100
SAFE_RATE = SAFE_INITIAL_RATE * CHUNK
"""Where cold queues may begin together, in single creates or dispatches a second."""

STEP_LOST_EACH_S = 60.0
"""After how many idle seconds a group's warmth is one step of the ramp less."""


@dataclass(frozen=True, slots=True)
class Ramp:
    """A rate that climbs `growth`-fold each `interval_s`, from `initial_rate` to `max_rate`.

    `warm_rate` is where a group that is already warm may begin; None means it is cold. A curve
    that is steeper than 500/50/5 must say `unsafe`. Whoever reads a ramp from a person checks
    it there, where each wrong value has its line number.
    """

    initial_rate: float = SAFE_INITIAL_RATE
    growth: float = SAFE_GROWTH
    interval_s: float = SAFE_INTERVAL_S
    max_rate: float = QUEUE_MAX_RATE
    warm_rate: float | None = None
    unsafe: bool = False

    @property
    def start_rate(self) -> float:
        """The rate at which the curve begins."""
        return min(self.warm_rate or self.initial_rate, self.max_rate)

    @property
    def growth_in_5_minutes(self) -> float:
        """The most by which the curve multiplies the rate within any 5 minutes."""
        steps = max(1, math.ceil(SAFE_INTERVAL_S / self.interval_s))
        return math.exp(min(steps * math.log(self.growth), 700)) if steps > 1 else self.growth

    def within(self, injector_queues: int) -> "Ramp":
        """Cap the curve at what that many injector queues may dispatch: 500/s each."""
        return replace(self, max_rate=min(self.max_rate, QUEUE_MAX_RATE * injector_queues))

    def starting_at(self, rate: float) -> "Ramp":
        """Begin at `rate`, where the group has been before, instead of cold."""
        return replace(self, warm_rate=rate)

    def dangers(self, *, safe_rate: float = SAFE_INITIAL_RATE) -> tuple[str, ...]:
        """Name each way in which the curve is steeper than 500/50/5.

        `safe_rate` is where a cold group may begin: 5/s for injector tasks, 500/s for a curve
        whose rates are single creates or dispatches.
        """
        found = []
        if self.initial_rate > safe_rate:
            found.append(f"initial_rate {self.initial_rate:g}/s is over {safe_rate:g}/s")
        if self.growth_in_5_minutes > SAFE_GROWTH:
            found.append(
                f"growth {self.growth:g} each {self.interval_s:g} s is "
                f"x{self.growth_in_5_minutes:.2f} within 5 minutes, over x{SAFE_GROWTH:g}"
            )
        return tuple(found)

    def next_rate(self, rate: float) -> float:
        """Take one step up from `rate`, fractions kept, never past the cap."""
        return min(rate * self.growth, self.max_rate)

    def rate_at(self, t: float) -> float:
        """Return the rate at `t` seconds; nothing runs before the curve begins."""
        return self._rate_of_step(self._step_at(t)) if t >= 0 else 0.0

    def total_by(self, t: float) -> float:
        """Return how many injector tasks the curve allows in its first `t` seconds."""
        if t <= 0:
            return 0.0
        step = self._step_at(t)
        return self._total_before(step) + self._rate_of_step(step) * (t - step * self.interval_s)

    def time_of(self, n: float) -> float:
        """Return the second at which `n` injector tasks are allowed; the inverse of `total_by`.

        Task number n, counted from 0, is due then; a job of n tasks is fed by then. A fraction
        is a part of an injector task: record number r of a job is due at `time_of(r / 100)`.
        """
        if n <= 0:
            return 0.0
        step = self._step_of_task(n)
        return step * self.interval_s + (n - self._total_before(step)) / self._rate_of_step(step)

    def steps_to_cap(self) -> int:
        """Return after how many steps the rate no longer grows."""
        if self.growth == 1 or self.start_rate >= self.max_rate:
            return 0
        return _ceil(math.log(self.max_rate / self.start_rate, self.growth))

    def _step_at(self, t: float) -> int:
        return int(min(t // self.interval_s, self.steps_to_cap()))

    def _step_of_task(self, n: float) -> int:
        grown = n / (self.start_rate * self.interval_s)
        if self.growth == 1:
            return 0
        step = int(math.log1p(grown * (self.growth - 1)) / math.log(self.growth))
        step = min(step, self.steps_to_cap())
        return step - 1 if self._total_before(step) > n else step

    def _rate_of_step(self, step: int) -> float:
        return min(self.start_rate * self.growth**step, self.max_rate)

    def _total_before(self, step: int) -> float:
        sum_of_powers = step if self.growth == 1 else (self.growth**step - 1) / (self.growth - 1)
        return self.start_rate * self.interval_s * sum_of_powers


def warmth(ramp: Ramp, *, reached: float, idle_s: float) -> float:
    """Return the rate a group may begin at, `idle_s` seconds after it last ran at `reached`.

    A queue that is idle "for some minutes" is cold again; no figure is published. So a group
    keeps its warmth for a minute and then loses a step a minute, five times as fast as it
    gained them: 500/s is forgotten in about 13 minutes. A stated `warm_rate` is never undercut,
    since whoever states it keeps the queues warm by other traffic.
    """
    steps_lost = max(0.0, idle_s / STEP_LOST_EACH_S - 1)
    left = reached * math.pow(SAFE_GROWTH, -steps_lost)
    return min(max(left, ramp.start_rate), ramp.max_rate)


def _ceil(steps: float) -> int:
    """Round up, but not for the last bit that a logarithm gets wrong."""
    nearest = round(steps)
    return nearest if abs(steps - nearest) < 1e-9 else math.ceil(steps)
