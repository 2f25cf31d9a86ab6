"""`injector jobs`."""

from collections.abc import Iterator, Mapping

import click

from injector.cli.job_view import settled_records
from injector.cli.options import json_option, service_at, service_option
from injector.cli.output import count, moment, print_lines, print_table

STATES = ("running", "paused", "cancelled", "finished", "failed")
HEADINGS = ("job", "group", "state", ">records", ">settled", ">rejected", "started")


@click.command()
@service_option()
@click.option("--state", type=click.Choice(STATES), default=None, help="Only jobs in this state.")
@json_option()
def command(url: str | None, state: str | None, *, as_json: bool) -> None:
    """List the jobs; with --json, one in each line.

    Example: injector jobs --state running
    """
    found = service_at(url).jobs(state or "")
    if as_json:
        print_lines(found)
    else:
        print_table(HEADINGS, _rows(found))


def _rows(jobs: Iterator[dict[str, object]]) -> Iterator[tuple[str, ...]]:
    for job in jobs:
        yield (*_names(job), *_counts(job), moment(job.get("started_at")))


def _names(job: Mapping[str, object]) -> tuple[str, ...]:
    return str(job["id"]), str(job["group"]), str(job["state"])


def _counts(job: Mapping[str, object]) -> tuple[str, ...]:
    return count(job["records"]), count(settled_records(job)), count(job["rejected"])
