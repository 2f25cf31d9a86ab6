"""`injector ramp`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import click
import msgspec

from injector.cli.charts import Curve, draw, plot_option, stairs, write_svg
from injector.cli.client import Json
from injector.cli.options import clock_note, json_option, service_at, service_option
from injector.cli.output import moment, print_json, print_pairs, print_table, rate
from injector.errors import Misused
from injector.pacing.ramp import CHUNK, Ramp

TITLE = "creates/s allowed"
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision of the controller; the rate is in injector tasks per second."""

    at: float
    action: str
    rate: float
    concurrency: int
    reason: str


@dataclass(frozen=True, slots=True)
class Tick:
    """What the last tick said; `fault` is empty when it did all it wanted."""

    at: float = 0.0
    kind: str = ""
    reason: str = ""
    notices: Sequence[str] = ()
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """A group as the service shows it; decisions come newest first, rates in creates per second."""

    name: str
    ramp: Mapping[str, object]
    rate_now: float | None
    rate_allowed: float | None
    last_tick: Tick
    jobs: Sequence[str]
    decisions: Sequence[Decision]


@click.command()
@click.argument("group")
@service_option()
@plot_option()
@json_option()
def command(group: str, url: str | None, plot: Path | None, *, as_json: bool) -> int:
    """Show where GROUP's rate is, and what the controller decided and why.

    Example: injector ramp welcome --plot ramp.svg
    """
    found = service_at(url).group(group)
    shown = shown_of(found)
    if as_json:
        print_json(found)
    else:
        show(shown)
    if plot:
        write_svg(plot, TITLE, curves_of(shown))
    return 0


def shown_of(found: Json) -> Shown:
    """Read what the service answered; raise Misused when it is no group."""
    try:
        return msgspec.convert(found, Shown)
    except msgspec.ValidationError as error:
        raise Misused(f"the service does not show the group as expected: {error}") from error


def show(group: Shown) -> None:
    """Show the group's ramp, and its decisions with a chart of them."""
    print_pairs({**_figures(group), **clock_note()})
    headings = ("time", "decision", ">injector/s", ">at once", "reason")
    newest = (_row(decision) for decision in islice(group.decisions, SHOWN))
    print_table(headings, newest, title="\ndecisions, newest first")
    if group.decisions:
        draw(TITLE, curves_of(group))


def curves_of(group: Shown) -> tuple[Curve, ...]:
    """Return the rate that was allowed, from the oldest decision known to the last tick."""
    decisions = list(reversed(group.decisions))
    if not decisions:
        return (Curve("allowed", [(0.0, 0.0)]),)
    since = decisions[0].at
    points = [(decision.at - since, decision.rate * CHUNK) for decision in decisions]
    until = max(group.last_tick.at, decisions[-1].at) - since
    return (Curve("allowed", list(stairs(points, until=until))),)


def _figures(group: Shown) -> dict[str, str]:
    tick = group.last_tick
    figures = {
        "group": group.name,
        "rate now": f"{rate(group.rate_now)} of {rate(group.rate_allowed)} creates/s allowed",
        "ramp": _curve(msgspec.convert(group.ramp, Ramp)),
        "jobs": ", ".join(group.jobs) or "none",
        "last tick": f"{moment(tick.at)}: {tick.kind}, {tick.reason}" if tick.at else "never",
    }
    oddities = {"notice": "; ".join(tick.notices), "fault": tick.fault}
    return figures | {name: words for name, words in oddities.items() if words}


def _curve(ramp: Ramp) -> str:
    unsafe = f"; unsafe: {' and '.join(ramp.dangers())}" if ramp.dangers() else ""
    return (
        f"from {ramp.start_rate * CHUNK:g} creates/s, x{ramp.growth:g} each {ramp.interval_s:g} s, "
        f"up to {ramp.max_rate * CHUNK:g}{unsafe}"
    )


def _row(decision: Decision) -> tuple[str, ...]:
    return (
        moment(decision.at),
        decision.action,
        rate(round(decision.rate, 3)),
        str(decision.concurrency),
        decision.reason,
    )
