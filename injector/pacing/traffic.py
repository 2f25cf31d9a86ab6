"""The share of a service's traffic that goes to a new version, step by step on 500/50/5.

A version that spreads its tasks over more queues brings new queues; their share of all tasks is
`new_share` of the version's share of the traffic. Shares are in percent and exact decimals, so
that a table comes out to the digit.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from injector.pacing.ramp import SAFE_GROWTH, SAFE_INTERVAL_S, SAFE_RATE

WHOLE = Decimal(100)
SHOWN = Decimal("0.1")
LONGEST = 10_000


@dataclass(frozen=True, slots=True)
class Shift:
    """Traffic of `rate` tasks a second moves to a version whose new queues get `new_share` of it.

    The new queues get `start_rate` tasks a second at first, and `growth` times as many after each
    `interval_s`.
    """

    rate: float
    new_share: float = 0.5
    start_rate: float = SAFE_RATE
    growth: float = SAFE_GROWTH
    interval_s: float = SAFE_INTERVAL_S

    def share(self, step: int) -> Decimal:
        """Return the percent of the traffic that the curve allows at a step."""
        first = Decimal(str(self.start_rate)) / Decimal(str(self.rate * self.new_share))
        if step * math.log(self.growth) > math.log(1e6 * max(1.0, float(1 / first))):
            return WHOLE
        return min(WHOLE, WHOLE * first * Decimal(str(self.growth)) ** step)

    def steps(self) -> Iterator[Decimal]:
        """Yield the shares from the first step to the whole."""
        for step in range(LONGEST):
            share = self.share(step)
            yield share
            if share >= WHOLE:
                return


@dataclass(frozen=True, slots=True)
class Row:
    """A step as a person reads it: percents of the whole traffic, to a tenth for the version."""

    minute: float
    moved: Decimal
    to_new_queues: Decimal
    to_old_queues: Decimal


def table(shift: Shift) -> Iterator[Row]:
    """Yield the steps: when, how much moves, and what the new and the old queues get of it."""
    new_share = Decimal(str(shift.new_share))
    for step, share in enumerate(shift.steps()):
        moved = share.quantize(SHOWN, ROUND_HALF_UP)
        new = (moved * new_share).normalize()
        yield Row(step * shift.interval_s / 60, moved, new, WHOLE - new)


def split(
    former: Mapping[str, Decimal], to: str, share: Decimal, *, grain: Decimal
) -> dict[str, Decimal]:
    """Return the percents of all versions when `to` gets a share, in multiples of the grain.

    `to` gets at most its share, the others what they had, in proportion; all add up to 100, and
    what rounding leaves over goes to the one that had most.
    """
    moved = share.quantize(grain, ROUND_DOWN)
    others = {name: percent for name, percent in former.items() if name != to and percent}
    if not others:
        return {to: WHOLE}
    before, left = sum(others.values(), Decimal(0)), WHOLE - moved
    found = {
        name: (percent * left / before).quantize(grain, ROUND_DOWN)
        for name, percent in others.items()
    }
    found[max(others, key=lambda name: others[name])] += left - sum(found.values(), Decimal(0))
    return {name: percent for name, percent in ({**found, to: moved}).items() if percent}
