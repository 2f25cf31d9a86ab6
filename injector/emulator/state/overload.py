"""What too many creates at once do to a location: they become slow, and some are refused.

The guide tells of it without figures: a group of queues takes 500 operations a second at first,
and 50 % more every 5 minutes; beyond, create latency and errors rise. Named tasks cost more, and
names in sequence far more, because they meet on the same part of the index.
"""

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True, slots=True)
class Overload:
    """The curve: creates per second, spans in seconds.

    All queues of a location count as one group. Its capacity starts at `first_rate`, and after
    each `interval_s` it is at most `growth` times as much, as far as that was used; it shrinks
    again when it was not. A create waits `latency_s`, times the cube of rate over capacity once
    that is above 1, at most `longest_s`; it is refused with probability `refused` · (1 - capacity
    / rate). A chosen name adds `name_s`, and one in sequence up to `sequence_factor` times that,
    and counts as up to `sequence_weight` creates.
    """

    first_rate: float = 500.0
    growth: float = 1.5
    interval_s: float = 300.0
    latency_s: float = 0.005
    longest_s: float = 10.0
    refused: float = 0.5
    name_s: float = 0.005
    sequence_factor: float = 10.0
    sequence_weight: float = 5.0


@dataclass(frozen=True, slots=True)
class Strain:
    """What a create meets: how long it waits, and whether it is refused then."""

    delay_s: float
    refused: bool


_SMOOTHING_S = 5.0
_SEQUENCE_SHARE = 0.05


class Load:
    """The creates of one location: their rate, its capacity, and how sequential names are."""

    __slots__ = (
        "_at",
        "_last_name",
        "_overload",
        "_peak",
        "_raised_at",
        "capacity",
        "rate",
        "sequence",
    )

    def __init__(self, overload: Overload, *, now: float) -> None:
        self._overload = overload
        self._at = self._raised_at = now
        self._peak = 0.0
        self._last_name = ""
        self.capacity = overload.first_rate
        self.rate = 0.0
        self.sequence = 0.0

    def add(self, name: str, *, now: float, draw: float) -> Strain:
        """Take in a create with the id that was chosen, if any, and tell what it meets."""
        curve = self._overload
        self._adapt(now=now)
        cost_s = 0.0
        weight = 1.0
        if name:
            self._note_name(name)
            cost_s = curve.name_s * (1 + (curve.sequence_factor - 1) * self.sequence)
            weight += (curve.sequence_weight - 1) * self.sequence
        self._count(weight, now=now)
        return strain(self.rate / self.capacity, cost_s=cost_s, draw=draw, overload=curve)

    def _count(self, weight: float, *, now: float) -> None:
        passed_s = max(0.0, now - self._at)
        self.rate = self.rate * exp(-passed_s / _SMOOTHING_S) + weight / _SMOOTHING_S
        self._at = max(self._at, now)
        self._peak = max(self._peak, self.rate)

    def _adapt(self, *, now: float) -> None:
        """Raise or lower the capacity, one step for each interval that has passed."""
        curve = self._overload
        while now - self._raised_at >= curve.interval_s:
            reached = min(self.capacity, self._peak) * curve.growth
            least = max(curve.first_rate, self.capacity / curve.growth)
            self.capacity = max(least, min(reached, self.capacity * curve.growth))
            self._raised_at += curve.interval_s
            self._peak = 0.0

    def _note_name(self, name: str) -> None:
        in_sequence = _is_next(self._last_name, name)
        self.sequence += _SEQUENCE_SHARE * (in_sequence - self.sequence)
        self._last_name = name


def strain(use: float, *, cost_s: float, draw: float, overload: Overload) -> Strain:
    """Return what a create meets at a rate that is `use` times the capacity."""
    over = max(1.0, use)
    delay_s = min(overload.longest_s, overload.latency_s * over**3 + cost_s)
    return Strain(delay_s, refused=draw < overload.refused * (1 - 1 / over))


def _is_next(before: str, name: str) -> bool:
    """Tell whether a name follows the one before: the same for the most part, and greater."""
    half = len(name) // 2
    return bool(before) and half > 0 and name[:half] == before[:half] and name > before
