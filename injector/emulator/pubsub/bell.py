"""Waking those who wait for a subscription's next message."""

import asyncio
from math import inf

from injector.emulator.timeline import Timeline

_LONGEST_S = 3600.0


class Bell:
    """Rings when a subscription may have something to deliver."""

    def __init__(self, clock: Timeline) -> None:
        self._clock = clock
        self._waiting: dict[str, set[asyncio.Event]] = {}
        clock.watch(self.ring_all)

    def ring(self, name: str) -> None:
        """Wake those who wait for this subscription."""
        for event in self._waiting.get(name, ()):
            event.set()

    def ring_all(self) -> None:
        """Wake everybody: the clock has jumped, or all is gone."""
        for name in self._waiting:
            self.ring(name)

    async def wait(self, name: str, *, until: float = inf, at_most_s: float = inf) -> None:
        """Wait for a ring, a time of the clock, or some of the machine's seconds to pass."""
        event = asyncio.Event()
        self._waiting.setdefault(name, set()).add(event)
        left = min(self._clock.real_s(until), at_most_s, _LONGEST_S)
        timer = asyncio.get_running_loop().call_later(left, event.set)
        try:
            await event.wait()
        finally:
            timer.cancel()
            self._waiting[name].discard(event)
            if not self._waiting[name]:
                del self._waiting[name]
