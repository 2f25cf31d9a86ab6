"""A token bucket that is told the time."""


class Bucket:
    """Holds up to `burst` tokens and gains `rate` of them per second; both may be fractional."""

    __slots__ = ("_at", "_burst", "_rate", "_tokens")

    def __init__(self, *, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = now

    @property
    def rate(self) -> float:
        """Return the tokens gained per second."""
        return self._rate

    def tokens(self, *, now: float) -> float:
        """Return how many tokens there are at `now`."""
        gained = max(0.0, now - self._at) * self._rate
        return min(self._burst, self._tokens + gained)

    def retune(self, *, rate: float, burst: float, now: float) -> None:
        """Change the rate and the size; tokens gained so far stay, as far as they fit."""
        self._tokens = min(burst, self.tokens(now=now))
        self._rate, self._burst, self._at = rate, burst, now

    def take(self, *, now: float) -> bool:
        """Take one token if there is one."""
        tokens = self.tokens(now=now)
        self._at = now
        if tokens < _ONE:
            self._tokens = tokens
            return False
        self._tokens = tokens - 1.0
        return True

    def next_at(self, *, now: float) -> float:
        """Return when the next token is there; infinite if none is ever gained."""
        missing = 1.0 - self.tokens(now=now)
        if missing <= 0:
            return now
        return now + missing / self._rate if self._rate > 0 else float("inf")


_ONE = 1.0 - 3e-4
"""A token that is there but for a rounding error is there: Unix seconds as floats are exact to
0.24 µs only, and a token waited for must not be missed for that. The error is not given away."""
