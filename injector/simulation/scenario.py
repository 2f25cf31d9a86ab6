"""What is to be simulated: the job, the group, and what goes wrong when."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

from injector.emulator.state.dynamics import OFF, Dynamics
from injector.errors import Misused
from injector.pacing.ramp import CHUNK, Ramp

DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Span:
    """A span of the job's time, in seconds from its start."""

    start_s: float
    end_s: float

    def __post_init__(self) -> None:
        if not 0 <= self.start_s < self.end_s:
            raise Misused(f"{self.start_s:g} to {self.end_s:g} s is not a span of time")

    def has(self, t: float) -> bool:
        """Tell whether the time is in the span."""
        return self.start_s <= t < self.end_s


@dataclass(frozen=True, slots=True)
class Burst:
    """A span in which that share of the calls fails, with a gRPC status name."""

    span: Span
    share: float
    code: str = "UNAVAILABLE"

    def __post_init__(self) -> None:
        _check_share(self.share)


@dataclass(frozen=True, slots=True)
class Slowness:
    """A span in which that share of the creates takes `latency_s`."""

    span: Span
    share: float
    latency_s: float

    def __post_init__(self) -> None:
        _check_share(self.share)


@dataclass(frozen=True, slots=True)
class Target:
    """The user's service: how long a task takes, how many a second it can bear, when it fails.

    Beyond `capacity` it answers 429.
    """

    latency_s: float = 0.2
    capacity: float = inf
    bursts: tuple[Burst, ...] = ()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A job, its group, and all that happens to it. Raises Misused for what cannot be.

    `dynamics` are those of the emulator's queues; they apply to the injector queues and the
    group's own. Ticks come every `tick_s` but in the spans of `missed`. With `hedge_delay_s`
    slow creates are hedged; None hedges none. The simulation ends with the job, or at `until_s`.
    """

    records: int
    ramp: Ramp = field(default_factory=Ramp)
    injector_queues: int = 1
    queues: int = 40
    queue_rate: float = 500.0
    queue_concurrency: int = 1000
    create_latency_s: float = 0.05
    bursts: tuple[Burst, ...] = ()
    slow: tuple[Slowness, ...] = ()
    target: Target = field(default_factory=Target)
    missed: tuple[Span, ...] = ()
    hedge_delay_s: float | None = None
    dynamics: Dynamics = OFF
    tick_s: float = 60.0
    horizon_s: float = 180.0
    until_s: float = 30 * DAY_S

    def __post_init__(self) -> None:
        for name in ("records", "injector_queues", "queues", "queue_rate", "queue_concurrency"):
            if getattr(self, name) <= 0:
                raise Misused(f"{name} is {getattr(self, name)}; needs a number above 0")
        if not 1 <= self.tick_s <= 3600:
            raise Misused(f"tick_s is {self.tick_s}; needs a value from 1 to 3600")

    @property
    def chunks(self) -> int:
        """How many injector tasks the job is."""
        return -(-self.records // CHUNK)

    def edges(self) -> Iterator[float]:
        """Yield the times at which something begins or ends to go wrong."""
        bursts = (*self.bursts, *self.target.bursts)
        spans = [burst.span for burst in bursts] + [slow.span for slow in self.slow]
        for span in (*spans, *self.missed):
            yield from (span.start_s, span.end_s)


def active(bursts: tuple[Burst, ...], t: float) -> Burst | None:
    """Return the worst burst at that time; None when all is well."""
    now = [burst for burst in bursts if burst.span.has(t) and burst.share]
    return max(now, key=lambda burst: burst.share, default=None)


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise Misused(f"share is {share}; needs a value from 0 to 1")
