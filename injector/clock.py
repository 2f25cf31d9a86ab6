"""The clock that everything outside the rules reads; the rules are given its readings."""

import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def now(self) -> float:
        """Return seconds since the Unix epoch; may jump when the machine's clock is set."""

    def monotonic(self) -> float:
        """Return seconds that only ever grow, from an arbitrary start."""

    def sleep(self, seconds: float) -> None:
        """Wait that many of this clock's seconds."""


@dataclass(frozen=True, slots=True)
class SystemClock:
    """This machine's clock."""

    def now(self) -> float:
        """Return seconds since the Unix epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since an arbitrary start."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(max(0.0, seconds))


@dataclass(frozen=True, slots=True)
class FastClock:
    """A clock that runs `speed` times as fast as this machine's from `origin` on.

    Processes that are given the same two numbers agree on the time, so a local run lets an
    hour of ramp pass in a minute. `origin` is in Unix seconds of the machine's own clock.
    """

    speed: float
    origin: float

    def now(self) -> float:
        """Return seconds since the Unix epoch, as this clock counts them."""
        return self.origin + (time.time() - self.origin) * self.speed

    def monotonic(self) -> float:
        """Return this clock's seconds since an arbitrary start."""
        return time.monotonic() * self.speed

    def sleep(self, seconds: float) -> None:
        """Wait that many of this clock's seconds."""
        time.sleep(max(0.0, seconds) / self.speed)
