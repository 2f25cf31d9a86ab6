"""Numbers over time, one point a minute, as the monitoring service keeps them."""

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass, field

MINUTE_S = 60
_MOST_POINTS = 24 * 60
BOUNDS = tuple(2.0**power for power in range(21))
"""The upper bounds of a spread's buckets: in milliseconds, 1 ms to 17 minutes."""


@dataclass(slots=True)
class Spread:
    """How values are spread: their number, mean, squared deviations, and buckets."""

    count: int = 0
    mean: float = 0.0
    deviation: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    def add(self, value: float) -> None:
        """Take in a value (Welford's algorithm)."""
        self.count += 1
        step = value - self.mean
        self.mean += step / self.count
        self.deviation += step * (value - self.mean)
        self.buckets[bisect_left(BOUNDS, value)] += 1


@dataclass(slots=True)
class Point:
    """A minute's number, and how its values are spread if they are more than counted."""

    minute: int
    number: int = 0
    spread: Spread | None = None


Labels = tuple[str, ...]


class Series:
    """Points by labels and minute; a day of them."""

    def __init__(self) -> None:
        self._points: dict[Labels, deque[Point]] = {}
        self._totals: dict[Labels, int] = {}

    def labels(self) -> list[Labels]:
        """Return the labels there are points for."""
        return list(self._points)

    def totals(self) -> dict[Labels, int]:
        """Return what was counted since the start."""
        return dict(self._totals)

    def count(self, labels: Labels, *, now: float, number: int = 1) -> None:
        """Count one more, or several."""
        self.point(labels, now=now).number += number
        self._totals[labels] = self._totals.get(labels, 0) + number

    def point(self, labels: Labels, *, now: float) -> Point:
        """Return the running minute's point, to be added to."""
        minute = int(now // MINUTE_S)
        points = self._points.get(labels)
        if points is None:
            points = self._points[labels] = deque(maxlen=_MOST_POINTS)
        if not points or points[-1].minute != minute:
            points.append(Point(minute))
        return points[-1]

    def between(self, labels: Labels, start: float, end: float) -> list[Point]:
        """Return the points of the minutes that end within a span, oldest first."""
        points = self._points.get(labels, ())
        return [p for p in points if start < (p.minute + 1) * MINUTE_S <= end + MINUTE_S]

    def forget(self, *, now: float) -> None:
        """Drop the points of labels that have had none for a day, as those of deleted queues.

        Their totals stay: a counter never goes back.
        """
        oldest = int(now // MINUTE_S) - _MOST_POINTS
        for labels in [k for k, points in self._points.items() if points[-1].minute < oldest]:
            del self._points[labels]

    def clear(self) -> None:
        """Forget every point."""
        self._points.clear()
        self._totals.clear()
