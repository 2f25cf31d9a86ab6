"""`injector group ramp`."""

import click

from injector.cli.operating.book import book_of
from injector.cli.operating.fields import blind_option, latency_option, stop_option
from injector.cli.operating.frame import operation_command
from injector.cli.ranges import FiniteRange
from injector.errors import Misused
from injector.operations.ramp import RAMP
from injector.operations.values import Fields
from injector.settings import Settings

RATE = FiniteRange(0, min_open=True)


def _as_before(_group: str, fields: Fields, settings: Settings, url: str) -> Fields:
    """Put the rates that queues had before an operation in place of its id."""
    if "own" not in fields:
        return fields
    operation = str(fields["own"])
    with book_of(settings, url) as book:
        found = book.operation(operation)
    if "rates_before" not in found:
        raise Misused(
            f"the service does not tell the rates before {operation}; upgrade the service, or use "
            "--to"
        )
    if not found["rates_before"]:
        raise Misused(f"{operation} is a {found['kind']} that has set no rates; use --to")
    return {**fields, "own": found["rates_before"]}


command = operation_command(
    RAMP,
    does=(
        "Raise or lower GROUP's dispatch rate on 500/50/5, watching what the target answers: "
        "before a release that makes tasks dearer, after an outage, for a new target."
    ),
    example="welcome --to 4000",
    fill=_as_before,
    options=(
        click.option("--to", type=RATE, help="Dispatches/s of all queues together."),
        click.option(
            "--back-to",
            "own",
            metavar="OPERATION-ID",
            help="In place of --to: each queue to the rate that it had before that operation.",
        ),
        click.option(
            "--from", "start", type=RATE, help="Where it is warm already [what it dispatches now]."
        ),
        latency_option(),
        stop_option(),
        blind_option(),
    ),
)
