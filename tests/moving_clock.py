"""Clocks for tests of what waits."""

import time

T0 = 1_800_000_000.0


class MovingClock:
    """A clock that whoever waits moves on."""

    def __init__(self) -> None:
        self.at = T0

    def now(self) -> float:
        return self.at

    monotonic = now

    def sleep(self, seconds: float) -> None:
        self.at += seconds


def fast_from(moment: float, *, speed: float) -> float:
    """Return the origin by which a process whose clock is so fast finds that it is that moment."""
    return (speed * time.time() - moment) / (speed - 1)
