"""When a failed task is tried again, and when it is given up."""

from injector.emulator.state.limits import RetryConfig

_MOST_DOUBLINGS = 60
"""2**60 times any back-off is past every maximum; more would only overflow."""


def backoff_s(failures: int, *, retry: RetryConfig) -> float:
    """Return the seconds between the n-th failure and the next attempt.

    The span starts at the minimum, doubles `max_doublings` times, then grows by the last
    doubled span each time, and stays at the maximum (RetryConfig.max_doublings).
    """
    steps = max(0, failures - 1)
    doublings = min(steps, max(0, retry.max_doublings), _MOST_DOUBLINGS)
    doubled = retry.min_backoff_s * 2.0**doublings
    return min(retry.max_backoff_s, doubled * (1 + steps - doublings))


def is_given_up(attempts: int, *, since_first_s: float, retry: RetryConfig) -> bool:
    """Tell whether no further attempt is made: every limit that is set has been met.

    Both limits have to be met, not either (RetryConfig.max_attempts); a task with neither
    is retried until its retention ends.
    """
    met = []
    if retry.max_attempts > 0:
        met.append(attempts >= retry.max_attempts)
    if retry.max_retry_duration_s > 0:
        met.append(since_first_s >= retry.max_retry_duration_s)
    return bool(met) and all(met)
