"""`injector report`."""

import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import PurePosixPath

import click

from injector.cli.client import Json, Service
from injector.cli.job_view import (
    REJECT_HEADINGS,
    describe,
    exit_code,
    number,
    open_records,
    reject_row,
    settled_records,
)
from injector.cli.options import clock_note, job_argument, json_option, service_at, service_option
from injector.cli.output import (
    count,
    creates,
    moment,
    print_json,
    print_lines,
    print_pairs,
    print_table,
    say,
    span,
)
from injector.cli.report_file import FORMATS, write_report
from injector.wording import counted

SHOWN = 20
PAGE = 500
"""How many chunks are asked for at once, so that a fault costs no more than these."""


@click.command()
@job_argument()
@service_option()
@click.option("--all", "every", is_flag=True, help="A row for every record, created ones too.")
@click.option("--out", metavar="FILE|URL", help="Write the rows there: .jsonl, .csv or .parquet.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="How, if the name is silent.")
@click.option("--rejects", "only_rejects", is_flag=True, help="Print every reject as a JSON line.")
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    job: str,
    url: str | None,
    out: str | None,
    kind: str | None,
    *,
    every: bool,
    only_rejects: bool,
    as_json: bool,
) -> int:
    """Account for every record of JOB: created, existed, rejected, open.

    With --out each record that was not plainly created gets a row there: its place, outcome, task
    and reason; with --all every record. --all alone prints these rows as JSON lines. Exits with 1
    when the job failed, stopped itself, or its records do not add up.

    Example: injector report welcome-2026-11 --all --out gs://bucket/welcome.parquet
    """
    service = service_at(url)
    found = service.job(job)
    if only_rejects:
        print_lines(service.rejects(job))
    elif every and not out:
        _print_blocks(rows(service, found, every=True))
    else:
        told = _written(service, found, out, kind, every=every) if out else {}
        if as_json:
            print_json({**service.summary(job), **told})
        elif out:
            say(f"{job}: {counted(number(told, 'rows'), 'row')} written to {out}", wraps=False)
        else:
            _show(service, service.summary(job))
    return 0 if adds_up(found) and not exit_code(found) else 1


def rows(service: Service, job: Json, *, every: bool) -> Iterator[bytes]:
    """Yield the rows as JSON lines, some chunks' at a time."""
    for first in range(0, number(job, "chunks"), PAGE):
        yield service.report(str(job["id"]), first=first, chunks=PAGE, every=every)


def adds_up(job: Mapping[str, object]) -> bool:
    """Tell whether a finished job has exactly one outcome for each record."""
    return job["state"] != "finished" or settled_records(job) == number(job, "records")


def _written(service: Service, job: Json, out: str, kind: str | None, *, every: bool) -> Json:
    """Write the rows; return how many they were, and where they are."""
    suffix = PurePosixPath(out).suffix.removeprefix(".")
    kind = kind or suffix
    if kind not in FORMATS:
        raise click.UsageError(f"{out}: name it .jsonl, .csv or .parquet, or say --format")
    return {"rows": write_report(out, kind, rows(service, job, every=every)), "written": out}


def _print_blocks(blocks: Iterator[bytes]) -> None:
    sys.stdout.flush()
    for block in blocks:
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()


def _show(service: Service, summary: Json) -> None:
    job = summary["job"]
    assert isinstance(job, dict)
    print_pairs(
        {
            **describe(job),
            **_figures(summary, job),
            "sum": _sum(job),
            **clock_note(),
        }
    )
    _show_ramp(summary["ramp_history"])
    if number(job, "rejected"):
        rejects = islice(service.rejects(str(job["id"])), SHOWN)
        print_table(REJECT_HEADINGS, map(reject_row, rejects), title="\nfirst rejects")
        say(f"all of them: injector report {job['id']} --rejects")


def _figures(summary: Mapping[str, object], job: Mapping[str, object]) -> dict[str, str]:
    seconds, cost = summary["took_s"], summary["cost_usd"]
    figures = {
        "operations": f"{count(summary['operations'])}, about USD {cost:,.2f}",
        "source": f"SHA-256 {job['digest']}",
    }
    if isinstance(seconds, int | float):
        speed = number(job, "created") / max(seconds, 0.001)
        figures |= {"took": span(seconds), "mean rate": f"{creates(speed)} creates/s"}
    return figures


def _show_ramp(history: object) -> None:
    if isinstance(history, list) and history:
        headings = ("time", "decision", ">injector/s", "reason")
        title = "\nthe ramp" + (f", its last {SHOWN} turns" if len(history) > SHOWN else "")
        print_table(headings, map(_turn, history[-SHOWN:]), title=title)


def _turn(decision: Mapping[str, object]) -> tuple[str, ...]:
    at, action, reached = decision["at"], decision["action"], decision["rate"]
    return moment(at), str(action), creates(reached), str(decision["reason"])


def _sum(job: Mapping[str, object]) -> str:
    parts = " + ".join(count(job[key]) for key in ("created", "existed", "rejected"))
    verdict = "adds up" if adds_up(job) else "does NOT add up"
    return f"{parts} + {count(open_records(job))} open = {count(job['records'])}: {verdict}"
