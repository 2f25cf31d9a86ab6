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
            self.fail(f"{value!r} will not do; give a number{_bounds(self)}", param, ctx)
        return number


class SpanRange(FiniteRange):
    """A range of spans of time in seconds: 0.2, or 200ms, or 5m."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the span; refuse it when it is none, or not one of the range."""
        from injector.cli.trouble import seconds_of  # noqa: PLC0415  (loads a lot)

        seconds = math.nan
        with suppress(click.BadParameter):
            seconds = seconds_of(str(value))
        if not (math.isfinite(seconds) and _fits(seconds, self)):
            words = f"{value!r} will not do; give a time in seconds{_bounds(self)}, or such as 2s"
            self.fail(words, param, ctx)
        return seconds


class WholeRange(click.IntRange):
    """A range of whole numbers."""

    def convert(self, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read the number; refuse it when it is not one of the range."""
        with suppress(ValueError):
            number = int(value)
            if _fits(number, self):
                return number
        words = f"{value!r} will not do; give a whole number{_bounds(self)}"
        raise click.BadParameter(words, ctx, param)


_Range = click.FloatRange | click.IntRange


def _fits(number: float, bounds: _Range) -> bool:
    """Tell whether the number is within the bounds, of which each may be missing or open."""
    least = -math.inf if bounds.min is None else bounds.min
    most = math.inf if bounds.max is None else bounds.max
    is_open = (bounds.min_open and number == least) or (bounds.max_open and number == most)
    return least <= number <= most and not is_open


def _bounds(bounds: _Range) -> str:
    """Say which numbers fit, such as ` above 0, up to 10`; nothing where all do."""
    least = "" if bounds.min is None else f"{bounds.min:.15g}"
    most = "" if bounds.max is None else f"{bounds.max:.15g}"
    if least and most and not (bounds.min_open or bounds.max_open):
        return f" from {least} to {most}"
    above = least and (f" above {least}" if bounds.min_open else f" of {least} or more")
    below = most and (f" below {most}" if bounds.max_open else f" up to {most}")
    return ",".join(filter(None, (above, below)))
