"""`injector watch`."""

from collections.abc import Callable, Mapping

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from injector.cli.client import Json, Service
from injector.cli.job_view import (
    ENDED,
    describe,
    exit_code,
    number,
    pace,
    settled_records,
    unsafe_ramp,
)
from injector.cli.options import job_argument, json_option, service_at, service_option
from injector.cli.output import console, count, print_lines, print_pairs, span

POLL_S = 1.0


@click.command()
@job_argument()
@service_option()
@json_option()
def command(job: str, url: str | None, *, as_json: bool) -> int:
    """Follow JOB until it ends or stops itself; exits as `injector status` does.

    Example: injector watch welcome-2026-11
    """
    service = service_at(url)
    if as_json:
        return exit_code(follow(service, job, lambda found: print_lines([found])))
    return watch(service, job)


def watch(service: Service, job: str) -> int:
    """Show the job's progress until it ends; return the exit code it deserves."""
    screen = console()
    with _bars(screen) as bars:
        last = follow(service, job, _shower(screen, bars, job))
    if screen.is_terminal:
        print_pairs(describe(last))
    return exit_code(last)


def follow(service: Service, job: str, show: Callable[[Json], None]) -> Json:
    """Show the job each second until it ends or stands still; return its last state."""
    while True:
        found = service.job(job)
        show(found)
        if found["state"] in ENDED or exit_code(found):
            return found
        service.clock.sleep(POLL_S)


def _shower(screen: Console, bars: Progress, job: str) -> Callable[[Json], None]:
    """Return what shows a state: by bars on a terminal, else by a line when something changed."""
    if not screen.is_terminal:
        return _line_shower(screen)
    created = bars.add_task(f"{job} records", total=None, note="")
    speed = bars.add_task("rate of allowed", total=None, note="")

    def show(found: Json) -> None:
        _show_bars(bars, created, speed, found)

    return show


def _show_bars(bars: Progress, records: TaskID, speed: TaskID, job: Mapping[str, object]) -> None:
    total, settled = number(job, "records"), settled_records(job)
    note = f"{count(settled)}/{count(total)}  {job['state']}  {span(job.get('eta_s'))} left"
    bars.update(records, total=total, completed=settled, note=f"{note} {unsafe_ramp(job)}")
    now, allowed = job.get("rate_now"), job.get("rate_allowed")
    bars.update(
        speed,
        total=allowed if isinstance(allowed, int | float) and allowed else None,
        completed=now if isinstance(now, int | float) else 0,
        note=pace(job),
    )


def _line_shower(screen: Console) -> Callable[[Json], None]:
    last = ""

    def show(job: Json) -> None:
        nonlocal last
        line = (
            f"{job['id']} {job['state']} {settled_records(job)}/{job['records']} records, "
            f"{pace(job)}, {count(job['rejected'])} rejected"
        )
        if line != last:
            screen.print(line, markup=False)
        last = line

    return show


def _bars(screen: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[note]}"),
        console=screen,
        disable=not screen.is_terminal,
    )
