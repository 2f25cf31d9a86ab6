"""The emulator's clock: real, faster, or frozen and moved by hand."""

import asyncio
import time
from collections.abc import Callable
from math import inf

LATEST_S = 221_845_392_000.0
"""The year 9000: a month later is still a date."""


class Timeline:
    """Counts Unix seconds from `origin` on, `speed` times as fast as the machine's clock.

    A clock of the same speed and origin in another process agrees with it (FastClock). A
    frozen one stands still until it is advanced; watchers are called when it jumps. It also
    serves as the timers of an event loop, in its own seconds.
    """

    def __init__(self, *, speed: float = 1.0, origin: float | None = None) -> None:
        self._read = time.time
        self._from_real = self._from = self._read() if origin is None else origin
        self._speed = speed
        self._frozen: float | None = None
        self._watchers: list[Callable[[], None]] = []

    @property
    def speed(self) -> float:
        """Return how fast the clock runs; 0 while it is frozen."""
        return 0.0 if self._frozen is not None else self._speed

    def now(self) -> float:
        """Return the time."""
        if self._frozen is not None:
            return self._frozen
        return self._from + (self._read() - self._from_real) * self._speed

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call the watcher whenever the clock is changed by hand."""
        self._watchers.append(watcher)

    def freeze(self, at: float | None = None) -> None:
        """Stop the clock where it is, or at the given time."""
        self._frozen = self.now() if at is None else at
        self._tell()

    def run(self, *, speed: float = 1.0) -> None:
        """Let the clock run on from where it is."""
        self._from, self._from_real = self.now(), self._read()
        self._frozen, self._speed = None, speed
        self._tell()

    def advance(self, seconds: float) -> float:
        """Jump ahead; return the new time."""
        if self._frozen is not None:
            self._frozen += seconds
        else:
            self._from += seconds
        self._tell()
        return self.now()

    def real_s(self, until: float) -> float:
        """Return the machine's seconds until then; infinite while the clock is frozen."""
        if self._frozen is not None:
            return 0.0 if until <= self._frozen else inf
        return max(0.0, until - self.now()) / self._speed

    def time(self) -> float:
        """Return the time, as an event loop's clock."""
        return self.now()

    def call_later(self, delay: float, callback: Callable[[], None], /) -> asyncio.TimerHandle:
        """Call back after that many of the clock's seconds; of the machine's while frozen.

        Targets live in real time: one that hangs has to be given up even if the clock stands.
        """
        real = delay / self._speed if self._frozen is None else delay
        return asyncio.get_running_loop().call_later(real, callback)

    async def sleep(self, seconds: float) -> None:
        """Wait for that many of the clock's seconds."""
        if seconds <= 0:
            return
        done = asyncio.Event()
        timer = self.call_later(seconds, done.set)
        try:
            await done.wait()
        finally:
            timer.cancel()

    def _tell(self) -> None:
        for watcher in self._watchers:
            watcher()
