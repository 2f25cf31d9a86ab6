"""`injector report`."""

import sys
from collections.abc import Iterator, Mapping
from itertools import islice

import click

from injector.cli.client import Json, Service
from injector.cli.job_view import describe, exit_code, number, open_records, settled_records
from injector.cli.options import job_argument, json_option, service_at, service_option
from injector.cli.output import (
    console,
    count,
    creates,
    print_json,
    print_lines,
    print_pairs,
    print_table,
    span,
)

SHOWN = 20


@click.command()
@job_argument()
@service_option()
@click.option("--rejects", "only_rejects", is_flag=True, help="Print every reject as a JSON line.")
@click.option("--records", "every", is_flag=True, help="Print every record's end as a JSON line.")
@json_option()
def command(job: str, url: str | None, *, only_rejects: bool, every: bool, as_json: bool) -> int:
    """Account for every record of JOB: created, existed, rejected, open.

    Exits with 1 when the job failed, stopped itself, or its records do not add up.

    Example: injector report welcome-2026-11 --rejects > rejects.jsonl
    """
    service = service_at(url)
    found = service.job(job)
    if only_rejects:
        print_lines(service.rejects(job))
    elif every:
        _print_blocks(service.outcomes(job))
    elif as_json:
        print_json(_document(service, found))
    else:
        _show(service, found)
    return 0 if adds_up(found) and not exit_code(found) else 1


def _print_blocks(blocks: Iterator[bytes]) -> None:
    sys.stdout.flush()
    for block in blocks:
        sys.stdout.buffer.write(block)
    sys.stdout.buffer.flush()


def adds_up(job: Mapping[str, object]) -> bool:
    """Tell whether a finished job has exactly one outcome for each record."""
    return job["state"] != "finished" or settled_records(job) == number(job, "records")


def _document(service: Service, job: Json) -> Json:
    rejects = list(islice(service.rejects(str(job["id"])), SHOWN))
    return {**job, "adds_up": adds_up(job), "first_rejects": rejects}


def _show(service: Service, job: Json) -> None:
    print_pairs({**describe(job), **_speed(job), "sum": _sum(job)})
    if number(job, "rejected"):
        rejects = islice(service.rejects(str(job["id"])), SHOWN)
        print_table((">line", ">record", "reason"), _rows(rejects), title="first rejects")
        console().print(f"all of them: injector report {job['id']} --rejects")


def _speed(job: Mapping[str, object]) -> dict[str, str]:
    started, finished = job.get("started_at"), job.get("finished_at")
    if not isinstance(started, int | float) or not isinstance(finished, int | float):
        return {}
    seconds = max(finished - started, 0.001)
    return {
        "took": span(seconds),
        "mean rate": f"{creates(number(job, 'created') / seconds)} creates/s",
    }


def _sum(job: Mapping[str, object]) -> str:
    parts = " + ".join(count(job[key]) for key in ("created", "existed", "rejected"))
    verdict = "adds up" if adds_up(job) else "does NOT add up"
    return f"{parts} + {count(open_records(job))} open = {count(job['records'])}: {verdict}"


def _rows(rejects: Iterator[Json]) -> Iterator[tuple[str, ...]]:
    for reject in rejects:
        place = ":".join(str(part) for part in (reject.get("file"), reject["line"]) if part)
        yield place, count(reject["ordinal"]), str(reject["reason"])
