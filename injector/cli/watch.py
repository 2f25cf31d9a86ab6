"""`injector watch`."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from injector.cli.client import Json, Service
from injector.cli.job_view import (
    ENDED,
    describe,
    exit_code,
    number,
    pace,
    settled_records,
    unsafe_ramp,
    waits_for,
)
from injector.cli.options import clock_note, job_argument, json_option, service_at, service_option
from injector.cli.output import (
    bars,
    count,
    is_terminal,
    print_lines,
    print_pairs,
    say,
    span,
    sparkline,
)

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

POLL_S = 1.0
LINE_EACH_S = 10.0
RATES = 40


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
    for name, words in clock_note().items():
        say(f"{name}: {words}")
    with _shower(job, service.clock.monotonic) as show:
        last = follow(service, job, show)
    if is_terminal():
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


@contextmanager
def _shower(job: str, now: Callable[[], float]) -> Iterator[Callable[[Json], None]]:
    """Give what shows a state: by bars on a terminal, else by a line now and then."""
    if not is_terminal():
        yield _line_shower(now)
        return
    with bars() as drawn:
        yield _bar_shower(drawn, job)


def _bar_shower(drawn: "Progress", job: str) -> Callable[[Json], None]:
    can_draw = "utf" in drawn.console.encoding
    created = drawn.add_task(f"{job} records", total=None, note="")
    speed = drawn.add_task("rate of allowed", total=None, note="")
    rates: deque[float] = deque(maxlen=RATES)

    def show(found: Json) -> None:
        rates.append(_rate(found))
        _show_bars(drawn, created, speed, found, sparkline(rates) if can_draw else "")

    return show


def _show_bars(
    drawn: "Progress",
    records: "TaskID",
    speed: "TaskID",
    job: Mapping[str, object],
    curve: str,
) -> None:
    total, settled = number(job, "records"), settled_records(job)
    left = waits_for(job) or f"{span(job.get('eta_s'))} left"
    note = f"{count(settled)}/{count(total)}  {job['state']}  {left}"
    drawn.update(records, total=total, completed=settled, note=f"{note} {unsafe_ramp(job)}")
    allowed = job.get("rate_allowed")
    drawn.update(
        speed,
        total=allowed if isinstance(allowed, int | float) and allowed else None,
        completed=_rate(job),
        note=f"{pace(job)}  {curve}",
    )


def _rate(job: Mapping[str, object]) -> float:
    now = job.get("rate_now")
    return float(now) if isinstance(now, int | float) else 0.0


def _line_shower(now: Callable[[], float]) -> Callable[[Json], None]:
    """Show a line when the state changes, and else one each ten seconds if there is news."""
    last, state, since = "", "", float("-inf")

    def show(job: Json) -> None:
        nonlocal last, state, since
        line = _line(job)
        if job["state"] != state or (line != last and now() - since >= LINE_EACH_S):
            say(line)
            last, state, since = line, str(job["state"]), now()

    return show


def _line(job: Mapping[str, object]) -> str:
    words = job.get("reason") or waits_for(job)
    reason = f": {words}" if words else ""
    return (
        f"{job['id']} {job['state']} {settled_records(job)}/{job['records']} records, "
        f"{pace(job)}, {count(job['rejected'])} rejected{reason}"
    )
