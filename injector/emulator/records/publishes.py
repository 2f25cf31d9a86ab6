"""What the service measures of publishes: how many, how they ended, how long they took."""

from injector.emulator.records.series import Series, Spread
from injector.emulator.rpc import Code


class Publishes:
    """The latencies of publish requests, in milliseconds, by (topic, code)."""

    def __init__(self) -> None:
        self.latencies_ms = Series()
        self._spreads: dict[tuple[str, str], Spread] = {}

    def ended(self, topic: str, code: Code, took_s: float, *, now: float) -> None:
        """Measure a publish."""
        labels = (topic, code.name)
        point = self.latencies_ms.point(labels, now=now)
        point.number += 1
        point.spread = point.spread or Spread()
        point.spread.add(took_s * 1000)
        self._spreads.setdefault(labels, Spread()).add(took_s * 1000)

    def spreads(self) -> dict[tuple[str, str], Spread]:
        """Return how latencies are spread since the start."""
        return dict(self._spreads)

    def counts(self, topic: str) -> dict[str, int]:
        """Return how many publishes to a topic ended with which code."""
        return {code: s.count for (name, code), s in self._spreads.items() if name == topic}

    def forget(self, *, now: float) -> None:
        """Drop what is a day old; totals stay."""
        self.latencies_ms.forget(now=now)

    def clear(self) -> None:
        """Forget everything."""
        self.latencies_ms.clear()
        self._spreads.clear()
