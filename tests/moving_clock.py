"""Clocks for tests of what waits."""

import time
from dataclasses import dataclass

T0 = 1_800_000_000.0


@dataclass
class MovingClock:
    """A clock that whoever waits moves on, or a test by hand."""

    time: float = T0

    def now(self) -> float:
        return self.time

    monotonic = now

    def sleep(self, seconds: float) -> None:
        self.time += seconds


def fast_from(moment: float, *, speed: float) -> float:
    """Return the origin by which a process whose clock is so fast finds that it is that moment."""
    return (speed * time.time() - moment) / (speed - 1)
