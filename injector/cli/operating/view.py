"""Plans and operations on the screen."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from injector.cli.charts import Curve, draw, stairs, write_svg
from injector.cli.output import (
    bars,
    is_terminal,
    moment,
    print_json,
    print_lines,
    print_pairs,
    print_table,
    say,
)
from injector.cli.output import span as span_of
from injector.clock import Clock
from injector.operations.values import Fields, Plan, PlannedStep

if TYPE_CHECKING:
    from rich.progress import Progress

STEPS_SHOWN = 40

Show = Callable[[Fields], None]


def show_plan(plan: Plan, *, as_json: bool, plot: Path | None) -> None:
    """Show a plan: figures, steps, chart, warnings; and write its chart if that is wished."""
    if as_json:
        print_json(asdict(plan))
    else:
        print_pairs(plan.figures)
        _show_steps(plan)
        if plan.lines:
            draw(plan.title, curves_of(plan))
    for warning in plan.warnings:
        say(f"warning: {warning}", style="yellow", stderr=True)
    if plot:
        write_svg(plot, plan.title, curves_of(plan) or (Curve("planned", [(0.0, 0.0)]),))


def curves_of(plan: Plan) -> tuple[Curve, ...]:
    """Return the plan's curves, each value held until the next."""
    last = max((at for line in plan.lines for at, _ in line.points), default=0.0)
    until = max(plan.seconds or 0.0, last)
    return tuple(Curve(line.name, list(stairs(line.points, until=until))) for line in plan.lines)


def _show_steps(plan: Plan) -> None:
    if not plan.steps:
        return
    names = list(dict.fromkeys(name for step in plan.steps for name in step.figures))
    headings = (">minute", *(f">{name}" for name in names), "what happens")
    shown = plan.steps[:STEPS_SHOWN]
    more = f", the first {len(shown)}" if len(plan.steps) > len(shown) else ""
    print_table(headings, (_row(step, names) for step in shown), title=f"\nsteps{more}")


def _row(step: PlannedStep, names: list[str]) -> tuple[str, ...]:
    figures = (_figure(step.figures.get(name, "")) for name in names)
    return (f"{step.at_s / 60:g}", *figures, step.what)


def _figure(value: object) -> str:
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def describe(operation: Fields) -> dict[str, str]:
    """Return an operation's fields as a person reads them."""
    steps = operation["steps"] or "?"
    lines = {
        "operation": str(operation["id"]),
        "group": str(operation["group"]),
        "state": str(operation["state"]),
        "why": str(operation["reason"]),
        "step": f"{operation['step']} of {steps}",
        "changes": f"{operation['acts_done']} of {operation['acts']} of this step are made",
        "began": f"{moment(operation['started_at'])} by {operation['who'] or 'the service'}",
        "next look": moment(operation["next_at"]),
        "ends": moment(operation["ended_at"] or operation["ends_at"]),
    }
    return {name: text for name, text in lines.items() if text not in {"", "-"}}


def exit_code(operation: Fields) -> int:
    """Return 0 for an operation that is done or goes on, 1 for one that is not well."""
    return 0 if operation["state"] in {"running", "done", "cancelled"} else 1


@contextmanager
def follower(operation: Fields, clock: Clock, *, is_new: bool, as_json: bool) -> Iterator[Show]:
    """Give what shows an operation as it goes on: a bar on a terminal, lines elsewhere."""
    if as_json:
        yield lambda found: print_lines([found])
        return
    verb = "began" if is_new else "goes on"
    click.echo(f"{operation['id']} {verb}; see injector group operations show {operation['id']}")
    if not is_terminal():
        yield _line_shower()
        return
    with bars() as bar:
        yield _bar_shower(bar, operation, clock)


def _bar_shower(bar: "Progress", operation: Fields, clock: Clock) -> Show:
    task = bar.add_task(str(operation["kind"]), total=None, note="")

    def show(found: Fields) -> None:
        total = _number(found["steps"]) or None
        note = f"{_place(found)}{_left(found, clock.now())}  {found['reason']}"
        bar.update(task, total=total, completed=_number(found["step"]), note=note)

    return show


def _line_shower() -> Show:
    """Show a line when something has changed."""
    last = ""

    def show(found: Fields) -> None:
        nonlocal last
        line = f"{found['id']} {found['state']} {_place(found)}: {found['reason']}"
        if line != last:
            say(line)
            last = line

    return show


def _place(operation: Fields) -> str:
    return f"step {operation['step']}/{operation['steps'] or '?'}"


def _left(operation: Mapping[str, object], now: float) -> str:
    ends_at = operation["ends_at"]
    if not isinstance(ends_at, int | float) or operation["ended_at"]:
        return ""
    return f"  {span_of(max(0.0, ends_at - now))} left"


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
