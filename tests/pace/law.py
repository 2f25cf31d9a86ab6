"""The law of the ramp, for whoever has counted dispatches by the minute."""

import math
from collections.abc import Sequence


def excess(minutes: Sequence[int], *, first_rate: float) -> float:
    """Return by how many dispatches the worst 5 minutes outdid half as much again.

    Compared are all spans of 5 whole minutes with the best that ended before they began, or
    with the first rate. A bucket's worth of dispatches may come on top, and one for each of the
    minutes that do not divide evenly.
    """
    spans = [sum(minutes[at : at + 5]) for at in range(len(minutes) - 4)]
    worst = 0.0
    for at, span in enumerate(spans):
        allowed = 1.5 * max([first_rate * 300, *spans[: max(0, at - 4)]])
        worst = max(worst, span - allowed - math.ceil(allowed / 300) - 5)
    return worst


def worst_growth(minutes: Sequence[int], *, first_rate: float) -> float:
    """Return the most by which 5 minutes outdid the best before; the first rate was before."""
    spans = [sum(minutes[at : at + 5]) for at in range(len(minutes) - 4)]
    return max(
        span / max([first_rate * 300, *spans[: max(0, at - 4)]]) for at, span in enumerate(spans)
    )
