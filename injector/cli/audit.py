"""`injector audit`."""

from collections.abc import Mapping
from itertools import islice

import click

from injector.cli.options import job_argument, json_option, service_at, service_option
from injector.cli.output import moment, print_lines, print_table
from injector.cli.ranges import WholeRange

WIDTH = 100
HEADINGS = ("time", "who", "what", "from", "to", "why")


@click.command()
@job_argument()
@service_option()
@click.option("--limit", type=WholeRange(min=1), default=100, show_default=True)
@json_option()
def command(job: str, url: str | None, limit: int, *, as_json: bool) -> None:
    """List who changed what of JOB, newest first; with --json, one in each line.

    Long texts are cut, but not in JSON. What has no name was done by the service itself. The list
    outlives the job.

    Example: injector audit welcome-2026-11
    """
    changes = islice(service_at(url).audit(job), limit)
    if as_json:
        print_lines(changes)
    else:
        print_table(HEADINGS, map(_row, changes))


def _row(change: Mapping[str, object]) -> tuple[str, ...]:
    who, *rest = (str(change[key]) for key in ("who", "what", "old", "new", "reason"))
    return (moment(change["at"]), who or "-", *(_short(text) for text in rest))


def _short(text: str) -> str:
    """Cut what an operation was asked for, which names each of its queues."""
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
