"""Ranges of numbers, as options take them."""

import math

import click


class FiniteRange(click.FloatRange):
    """A range of finite numbers: click lets NaN pass, for it is neither below nor above."""

    def convert(
        self, value: float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read the number; refuse it when it is not one of the range."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number
