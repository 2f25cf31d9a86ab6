"""How results are shown: tables and colour for a person, plain lines or JSON for a program."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rich.console import Console

_WIDE = 10_000
_BLOCKS = "▁▂▃▄▅▆▇█"


def console(*, stderr: bool = False) -> "Console":
    """Return the console: coloured on a terminal, save under NO_COLOR; else plain, unwrapped."""
    from rich.console import Console  # noqa: PLC0415  (slow, and what prints JSON has no need)

    stream = sys.stderr if stderr else sys.stdout
    if stream.isatty():
        return Console(stderr=stderr, highlight=False)
    return Console(stderr=stderr, highlight=False, width=_WIDE, color_system=None)


def print_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def print_lines(values: Iterable[object]) -> None:
    """Print a JSON document in each line."""
    for value in values:
        click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str))


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names with their values, in two columns."""
    from rich.table import Table  # noqa: PLC0415  (as above)
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in pairs.items():
        table.add_row(Text(name), Text(value))
    console().print(table)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print rows under headings; a heading that begins with > is that of numbers."""
    from rich.table import Table  # noqa: PLC0415  (as above)
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, title=title or None, title_justify="left", pad_edge=False)
    for heading in headings:
        table.add_column(
            heading.removeprefix(">"), justify="right" if heading.startswith(">") else "left"
        )
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)


def count(number: object) -> str:
    """Write a count with thousands apart."""
    return f"{number:,}" if isinstance(number, int) else "-"


def rate(number: object) -> str:
    """Write a rate."""
    if not isinstance(number, int | float):
        return "-"
    return f"{number:,.0f}" if number >= 1000 else f"{number:g}"


def creates(number: object) -> str:
    """Write a create rate, to three digits."""
    return rate(float(f"{number:.3g}") if isinstance(number, int | float) else number)


def sparkline(values: Sequence[float]) -> str:
    """Draw values as a line of blocks, the highest one as the highest block."""
    most = max(values, default=0.0) or 1.0
    return "".join(_BLOCKS[round(value / most * (len(_BLOCKS) - 1))] for value in values)


def size(number: object) -> str:
    """Write a number of bytes, to three digits."""
    if not isinstance(number, int):
        return "-"
    value, units = float(number), iter(("B", "kB", "MB", "GB", "TB"))
    unit = next(units)
    while value >= 999.5 and unit != "TB":
        value, unit = value / 1000, next(units)
    return f"{value:,.3g} {unit}"


def span(seconds: object) -> str:
    """Write a length of time, to two units."""
    if not isinstance(seconds, int | float):
        return "-"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def moment(seconds: object) -> str:
    """Write an instant in UTC."""
    if not isinstance(seconds, int | float):
        return "-"
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
