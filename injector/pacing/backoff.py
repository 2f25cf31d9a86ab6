"""How long to wait before a call is tried again."""

from dataclasses import dataclass

from injector.errors import Misused

MOST_ATTEMPTS = 100


def full_jitter(failed: int, *, first_s: float, most_s: float, draw: float) -> float:
    """Return a wait in seconds between 0 and first_s, doubled with each failure, capped.

    Spread over the whole span, since clients that failed together otherwise come back
    together ("Exponential Backoff and Jitter", AWS Architecture Blog).
    """
    return draw * min(most_s, first_s * 2.0 ** min(failed - 1, 60))


@dataclass(frozen=True, slots=True)
class Backoff:
    """How often a call is tried, and how long it waits in between; raises Misused if not at all."""

    attempts: int = 4
    first_s: float = 0.1
    most_s: float = 5.0

    def __post_init__(self) -> None:
        if not 1 <= self.attempts <= MOST_ATTEMPTS:
            raise Misused(f"attempts is {self.attempts}; needs a value from 1 to {MOST_ATTEMPTS}")
        if not 0 < self.first_s <= self.most_s < float("inf"):
            raise Misused(
                f"back-off from {self.first_s} s to {self.most_s} s; needs two waits above 0,"
                " the longer one last"
            )

    def wait_s(
        self, failed: int, *, left_s: float, draw: float, at_least_s: float = 0.0
    ) -> float | None:
        """Return the wait after `failed` attempts; None when there is no attempt or time left.

        `left_s` is what is left of the time for all attempts, `at_least_s` a wait that the
        service asked for, `draw` uniform in [0, 1).
        """
        if failed >= self.attempts:
            return None
        jittered = full_jitter(failed, first_s=self.first_s, most_s=self.most_s, draw=draw)
        wait = at_least_s + jittered
        return wait if wait < left_s else None
