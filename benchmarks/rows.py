"""The rows that benchmarks yield, and how they are shown: as they come, as Markdown, as JSON."""

import json
import os
import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class Row:
    """One figure beside its peer's of the same run; no peer is an empty name.

    A figure that cannot be measured here is None, and `absent` says what it takes.

    `better` says whether a figure is the better for being less or more. `aim` is what it is
    meant to be, empty where nothing was set.
    """

    what: str
    value: float | None
    unit: str
    peer: str = ""
    peer_value: float = 0.0
    better: Literal["less", "more"] = "less"
    aim: str = ""
    absent: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times as good as the peer; None without one."""
        if not self.peer or not self.value or not self.peer_value:
            return None
        ours = self.value / self.peer_value
        return 1 / ours if self.better == "less" else ours

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as a person reads it."""
        peer = f"{self.peer}: {number(self.peer_value)} {self.unit}" if self.peer else ""
        ratio = f"{number(self.ratio)}x" if self.ratio else ""
        figure = self.absent if self.value is None else f"{number(self.value)} {self.unit}"
        return self.what, figure, peer, ratio, self.aim


Section = tuple[str, str, Sequence[Row]]
"""A benchmark's name, its own words, and its rows."""


def number(value: float) -> str:
    """Write a number with about three digits that say something."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def show(rows: Iterable[Row]) -> Iterator[Row]:
    """Print each row as it comes, and pass it on."""
    for row in rows:
        what, figure, peer, ratio, aim = row.cells
        print(f"{what:48}{figure:>18}{ratio:>9}  {peer:44} {aim}".rstrip(), flush=True)
        yield row


def printed(rows: Iterable[Row]) -> None:
    """Print all rows."""
    print(f"{'':48}{'figure':>18}{'ratio':>9}  {'peer':44} aim")
    for _ in show(rows):
        pass


def machine() -> str:
    """Name what this runs on, and how busy it was."""
    load = os.getloadavg()[0]
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()},"
        f" {platform.machine()}, {os.cpu_count()} cores, load {load:.1f} at the end"
    )


def as_markdown(sections: Sequence[Section], *, mode: str) -> str:
    """Write one table of all rows, and below it how each benchmark measures."""
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench` ({mode} mode; {machine()}).",
        "A ratio is how many times as good as the peer's the figure is, both from the same run.",
        "",
        "| what | figure | peer | ratio | aim | measured by |",
        "|---|--:|---|--:|---|---|",
    ]
    for name, _, rows in sections:
        lines += [f"| {' | '.join(row.cells)} | [{name}](#{name}) |" for row in rows]
    for name, words, _ in sections:
        lines += ["", f"## {name}", "", words.strip()]
    return "\n".join(lines) + "\n"


IN_README = {
    "client CPU a create: injector, single creates": "a client's CPU for a create, sent alone",
    "client CPU a create: injector, batches of 100": "the same, in batches of 100",
    "whole handler, single, CPU a task": "the whole handler's CPU for a record, created alone",
    "whole handler, batch, CPU a task": "the same, in batches of 100",
    "half of creates fail for 10 min, calls a record": "calls for a record while half of them fail",
    "stage 20 MB of jsonl, in place": "staging of JSONL",
    "emulator, create, h2load 4 x 32": "the emulator's creates on one core",
    "emulator, task of a batch of 100, h2load 4 x 8": "the same, in batches of 100",
}
"""The figures that the README shows, and what it calls them."""

_MARKS = "<!-- figures: written by make bench -->\n", "<!-- end of figures -->\n"


def in_readme(readme: str, rows: Iterable[Row]) -> str:
    """Return the README with these rows' figures between its marks; raises ValueError without."""
    begin, end = (readme.index(mark) for mark in _MARKS)
    by_name = {row.what: row for row in rows}
    lines = ["| what | figure | beside | ratio |", "|---|--:|---|--:|"]
    for name, told in IN_README.items():
        _, figure, peer, ratio, _ = by_name[name].cells
        lines.append(f"| {told} | {figure} | {peer} | {ratio} |")
    table = "".join(f"{line}\n" for line in lines)
    return readme[:begin] + _MARKS[0] + table + readme[end:]


def as_json(sections: Sequence[Section], *, mode: str) -> str:
    """Write the same for programs."""
    rows = [
        {"benchmark": name, **asdict(row), "ratio": row.ratio}
        for name, _, of_one in sections
        for row in of_one
    ]
    return json.dumps({"mode": mode, "machine": machine(), "rows": rows}, indent=1) + "\n"
