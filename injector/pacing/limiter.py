"""How many calls may be under way at once, how soon the next may start, how long it may take."""

import math

MAX_CALL_S = 30.0
"""Cloud Tasks refuses a call whose deadline is further ahead than this."""


def call_timeout_s(left_s: float, *, most_s: float = 20.0) -> float:
    """Return what a call that is sent now may take, out of what is left of its budget.

    Asked when the call is sent, so that a wait for a slot does not eat into it.
    """
    return max(0.0, min(left_s, most_s, MAX_CALL_S))


def concurrency_needed(rate: float, latency_s: float, *, headroom: float = 1.0) -> int:
    """Return how many must be under way at once to finish `rate` a second (Little's law)."""
    return math.ceil(round(rate * latency_s * headroom, 9))


def throughput(rate: float, concurrency: float, latency_s: float) -> float:
    """Return how many a second get through a rate limit and a concurrency limit (Little's law)."""
    return min(rate, concurrency / latency_s) if latency_s > 0 else rate


WAITING_FOR_EACH = 1


def pool_threads(fan_outs: int) -> int:
    """Return how many threads a process needs so that fan-outs never keep the others waiting.

    Beside those that fan out there are as many that may wait to, since a platform spreads its
    requests unevenly over the processes of an instance; the rest is for ticks, people and
    health checks.
    """
    return fan_outs * (1 + WAITING_FOR_EACH) + max(2, fan_outs // 4) + 1


class Slots:
    """Counts the calls under way; not locked: whoever shares it between threads locks it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.taken = 0

    def take(self) -> bool:
        """Take a slot if one is free."""
        if self.taken >= self.limit:
            return False
        self.taken += 1
        return True

    def give_back(self) -> None:
        """Free a slot that was taken."""
        self.taken -= 1


class Pacer:
    """Spaces starts evenly at a rate, in monotonic seconds.

    `slack_s` is how far it may fall behind and catch up, which is what a caller that sleeps a
    little too long each time needs. A clock that steps back makes nobody wait for it.
    """

    def __init__(self, rate: float, *, slack_s: float = 0.0) -> None:
        self.rate = rate
        self._slack_s = slack_s
        self._free_at = -math.inf
        self._seen = -math.inf

    def reserve(self, *, now: float) -> float:
        """Take the next slot and return how many seconds to wait for it."""
        if now < self._seen:
            self._free_at -= self._seen - now
        self._seen = now
        slot = max(self._free_at, now - self._slack_s)
        self._free_at = slot + 1 / self.rate
        return max(0.0, slot - now)
