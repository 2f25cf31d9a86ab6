"""What is known of queues: measured minute by minute, and logged attempt by attempt."""

from collections.abc import Mapping
from dataclasses import dataclass, field

MINUTE_S = 60.0


@dataclass(frozen=True, slots=True)
class Minute:
    """What was measured of a queue in the minute that ended at `at`, in Unix seconds.

    `attempts` counts those that ended, by gRPC name. `left` counts those that began, and
    `late_s` is how long after their time they did so on average; None when none began.
    `depth` is how many tasks there were at its end; None when nobody has measured it.
    """

    at: float
    attempts: Mapping[str, int] = field(default_factory=dict)
    left: int = 0
    late_s: float | None = None
    depth: float | None = None

    @property
    def rate(self) -> float:
        """Return how many attempts began a second."""
        return self.left / MINUTE_S


@dataclass(frozen=True, slots=True)
class Latency:
    """How long the target takes for an attempt, by the logs of so many `samples`.

    `pooled` says that they are of the group's other queues too.
    """

    mean_s: float
    p95_s: float
    samples: int
    pooled: bool = False


@dataclass(frozen=True, slots=True)
class QueueEvidence:
    """A queue as it is set, its minutes, oldest first and without gaps, and its latency.

    `state` is RUNNING, PAUSED or DISABLED; `rate` is max_dispatches_per_second, `concurrency`
    max_concurrent_dispatches. `latency` is None where no attempt was logged.
    """

    name: str
    state: str
    rate: float
    concurrency: int
    minutes: tuple[Minute, ...] = ()
    latency: Latency | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """How calls that create tasks ended in the minute up to `at`, by gRPC name."""

    at: float
    ended: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known of some queues of one location.

    `creates` are those of the whole location, since calls are not counted by queue. `unseen`
    says what could not be looked at, and what would do.
    """

    queues: tuple[QueueEvidence, ...]
    creates: tuple[Calls, ...] = ()
    unseen: tuple[str, ...] = ()
