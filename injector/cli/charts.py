"""Curves over a job's time: in the terminal, and as an SVG file."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import click

from injector.cli.output import console, is_terminal, rate
from injector.errors import Misused

WIDTH, HEIGHT = 72, 16
COLOURS = ("cyan", "magenta", "yellow", "green")


@dataclass(frozen=True, slots=True)
class Curve:
    """A named curve: values over seconds."""

    name: str
    points: Sequence[tuple[float, float]]


def plot_option() -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Let a command write its chart to a file."""
    return click.option(
        "--plot",
        "plot",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE.svg",
        help="Write the chart to this file too.",
    )


def stairs(points: Iterable[tuple[float, float]], *, until: float) -> Iterator[tuple[float, float]]:
    """Hold each value until the next one, and the last one to the end."""
    for (at, value), (later, _) in pairwise((*points, (until, 0.0))):
        yield at, value
        yield later, value


def draw(title: str, curves: Sequence[Curve]) -> None:
    """Draw the curves on the terminal; nothing where nobody looks or braille cannot be shown."""
    if is_terminal() and "utf" in (sys.stdout.encoding or "").lower():
        screen = console()
        coloured = screen.color_system is not None and not screen.no_color
        click.echo(f"\n{in_text(title, curves, coloured=coloured)}")


def in_text(title: str, curves: Sequence[Curve], *, coloured: bool) -> str:
    """Return the curves as lines of braille dots."""
    import plotille  # noqa: PLC0415  (only a terminal needs it)

    figure = plotille.Figure()
    figure.width, figure.height = WIDTH, HEIGHT
    figure.with_colors = coloured
    figure.x_label, figure.y_label = "minutes", title
    figure.register_label_formatter(float, _label)
    figure.set_x_limits(min_=0, max_=max(1.0, *(at / 60 for at in _times(curves))))
    figure.set_y_limits(min_=0, max_=1.05 * max(1.0, *_values(curves)))
    for curve, colour in zip(curves, COLOURS, strict=False):
        minutes, values = zip(*((at / 60, value) for at, value in curve.points), strict=True)
        figure.plot(minutes, values, label=curve.name, lc=colour if coloured else None)
    return str(figure.show(legend=True))


def write_svg(path: Path, title: str, curves: Sequence[Curve]) -> None:
    """Write the curves as an SVG file and say so; raise Misused where it cannot be written."""
    try:
        path.write_text(in_svg(title, curves), encoding="utf-8")
    except OSError as error:
        raise Misused(f"{path}: {error.strerror}; name a file that can be written") from error
    click.echo(f"chart written to {path}", err=True)


def in_svg(title: str, curves: Sequence[Curve]) -> str:
    """Return the curves as an SVG document."""
    import leather  # noqa: PLC0415  (only a file needs it)

    chart = leather.Chart(title)
    chart.add_x_axis(name="minutes")
    chart.add_y_scale(0, max(1.0, *_values(curves)))
    for curve in curves:
        chart.add_line([(at / 60, value) for at, value in curve.points], name=curve.name)
    return str(chart.to_svg())


def _times(curves: Sequence[Curve]) -> list[float]:
    return [at for curve in curves for at, _ in curve.points]


def _values(curves: Sequence[Curve]) -> list[float]:
    return [value for curve in curves for _, value in curve.points]


def _label(value: float, chars: int, *, delta: object, left: bool = False) -> str:  # noqa: ARG001  (plotille's signature)
    text = rate(round(value, 1))
    return text.ljust(chars) if left else text.rjust(chars)
