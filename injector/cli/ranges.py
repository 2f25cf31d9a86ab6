"""Ranges of numbers, as options take them; what does not fit is told with what would."""

import math
from contextlib import suppress

import click


class FiniteRange(click.FloatRange):
    """A range of finite numbers: click lets NaN pass, for it is neither below nor above."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number; refuse it when it is not one of the range."""
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and _fits(number, self)):
            self.fail(f"{value!r} will not do; give a number {_bounds(self)}", param, ctx)
        return number


class WholeRange(click.IntRange):
    """A range of whole numbers."""

    def convert(self, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number; refuse it when it is not one of the range."""
        with suppress(ValueError):
            number = int(value)
            if _fits(number, self):
                return number
        words = f"{value!r} will not do; give a whole number {_bounds(self)}"
        raise click.BadParameter(words, ctx, param)


_Range = click.FloatRange | click.IntRange


def _fits(number: float, bounds: _Range) -> bool:
    """Tell whether the number is within the bounds; an upper one is always part of its range."""
    least, most = bounds.min or 0, math.inf if bounds.max is None else bounds.max
    return least <= number <= most and not (bounds.min_open and number == least)


def _bounds(bounds: _Range) -> str:
    """Say which numbers fit."""
    least, most = f"{bounds.min or 0:g}", "" if bounds.max is None else f"{bounds.max:.15g}"
    if bounds.min_open:
        return f"above {least}" + (f", up to {most}" if most else "")
    return f"from {least} to {most}" if most else f"of {least} or more"
