"""How results are shown: tables and colour on a terminal, plain lines or JSON for a program.

Lines that no terminal shows are whole however long, and end without blanks.
"""

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

import click

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

_BLOCKS = "▁▂▃▄▅▆▇█"


def console(*, stderr: bool = False) -> "Console":
    """Return the console of a terminal: coloured, save under NO_COLOR."""
    from rich.console import Console  # noqa: PLC0415  (slow, and only a terminal needs it)

    return Console(stderr=stderr, highlight=False)


def print_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def print_lines(values: Iterable[object]) -> None:
    """Print a JSON document in each line."""
    for value in values:
        click.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str))


def bars() -> "Progress":
    """Return bars that each have a description, and a note behind them."""
    from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415  (as above)

    columns = (TextColumn("{task.description}"), BarColumn(bar_width=30))
    return Progress(*columns, TextColumn("{task.fields[note]}"), console=console())


def is_terminal(*, stderr: bool = False) -> bool:
    """Tell whether a person looks at the stream as it is written."""
    return (sys.stderr if stderr else sys.stdout).isatty()


def say(
    text: str, *, head: str = "", style: str = "", stderr: bool = False, wraps: bool = True
) -> None:
    """Print a line: on a terminal wrapped between words, and in that style; elsewhere as it is.

    With a head the style is the head's alone. What does not wrap here is wrapped by the terminal
    itself, so that it can be copied in one piece.
    """
    if not is_terminal(stderr=stderr):
        click.echo(head + text, err=stderr)
        return
    from rich.text import Text  # noqa: PLC0415  (slow, and only a terminal needs it)

    line = Text.assemble((head, style), text) if head else Text(text, style)
    console(stderr=stderr).print(line, soft_wrap=not wraps)


def print_pairs(pairs: Mapping[str, str]) -> None:
    """Print names with their values, in two columns."""
    if not is_terminal():
        _print_columns(list(pairs.items()))
        return
    from rich.table import Table  # noqa: PLC0415  (slow, and only a terminal needs it)
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, value in pairs.items():
        table.add_row(Text(name), Text(value))
    console().print(table)


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]], title: str = "") -> None:
    """Print rows under headings; a heading that begins with > is that of numbers."""
    names = [heading.removeprefix(">") for heading in headings]
    if not is_terminal():
        if title:
            click.echo(title)
        numbers = {place for place, each in enumerate(headings) if each.startswith(">")}
        _print_columns([names, *rows], numbers)
        return
    from rich.table import Table  # noqa: PLC0415  (slow, and only a terminal needs it)
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, title=title or None, title_justify="left", pad_edge=False)
    for name, heading in zip(names, headings, strict=True):
        table.add_column(name, justify="right" if heading.startswith(">") else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)


def _print_columns(rows: Sequence[Sequence[str]], numbers: Collection[int] = ()) -> None:
    """Print each row in one line, whole however long, and without blanks at its end."""
    cells = [[" ".join(cell.split("\n")) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = []
        for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - _width(cell))
            padded.append(blanks + cell if place in numbers else cell + blanks)
        click.echo("  ".join(padded).rstrip())


def _width(text: str) -> int:
    """Count the columns that a text takes where it is read: two for a wide sign, none for marks."""
    if text.isascii():
        return len(text)
    marks = sum(map(bool, map(combining, text)))
    return len(text) - marks + sum(east_asian_width(sign) in "WF" for sign in text)


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
