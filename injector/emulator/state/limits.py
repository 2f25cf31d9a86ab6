"""What a queue allows: how fast it dispatches and how it retries."""

from dataclasses import dataclass, field
from math import ceil

MAX_RATE = 500.0
MAX_CONCURRENT = 5000
RETENTION_S = 31 * 86400.0
"""A task is dropped at this age, dispatched or not (Cloud Tasks quotas page)."""


@dataclass(frozen=True, slots=True)
class RateLimits:
    """How fast a queue may dispatch: starts per second, and attempts in flight at once."""

    max_dispatches_per_second: float = MAX_RATE
    max_concurrent_dispatches: int = 1000


@dataclass(frozen=True, slots=True)
class RetryConfig:
    """When a failed attempt is tried again, and when no more; spans in seconds.

    `max_attempts` of -1 and `max_retry_duration_s` of 0 set no limit of their own.
    """

    max_attempts: int = 100
    max_retry_duration_s: float = 0.0
    min_backoff_s: float = 0.1
    max_backoff_s: float = 3600.0
    max_doublings: int = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """A queue's rate and retry settings."""

    rate: RateLimits = field(default_factory=RateLimits)
    retry: RetryConfig = field(default_factory=RetryConfig)


def burst_size(rate: float) -> int:
    """Return the bucket that the service gives a queue of this rate.

    Production chooses it by rules of its own; documented is only that it is generally at
    least the rate.
    """
    return max(1, ceil(rate))
