"""How a total dispatch rate, which climbs on the curve, is dealt out to a group's queues."""

from collections.abc import Mapping, Sequence

LEAST_RATE = 0.1
"""What an opened queue keeps at least, in dispatches per second, lest it go cold."""

Rates = Mapping[str, float]
"""Dispatches per second by queue."""


def in_step(own: Rates, *, total: float) -> dict[str, float]:
    """Give each queue the same part of its own rate, so that all together have the total."""
    whole = sum(own.values())
    if total >= whole:
        return dict(own)
    return {queue: max(min(LEAST_RATE, rate), rate * total / whole) for queue, rate in own.items()}


def in_turn(own: Rates, *, total: float, opened: Sequence[str] = ()) -> dict[str, float]:
    """Give queues their own rate one after the other, until the total is given away.

    Those that are opened come first, and keep a little whatever there is; of those that are
    not, only as many are in the answer as there is something for.
    """
    dealt: dict[str, float] = {}
    left = total
    for queue in (*opened, *(queue for queue in own if queue not in opened)):
        rate = min(own[queue], left)
        if queue in opened or rate >= min(LEAST_RATE, own[queue]):
            dealt[queue] = max(min(LEAST_RATE, own[queue]), rate)
            left = max(0.0, left - rate)
    return dealt
