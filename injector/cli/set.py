"""`injector set`."""

import click

from injector.cli.job_view import describe
from injector.cli.options import job_argument, json_option, service_at, service_option
from injector.cli.output import print_json, print_pairs
from injector.cli.ranges import FiniteRange, WholeRange

NONE = "none"


def _rate(_context: click.Context, _parameter: click.Parameter, text: str | None) -> object:
    """Read creates per second, or `none`; None where nothing was said."""
    if text in {None, NONE}:
        return text
    try:
        rate = float(str(text))
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not a number of creates a second, or none"
        ) from error
    if not 0 < rate < float("inf"):
        raise click.BadParameter(f"{text!r} must be above 0")
    return rate


@click.command()
@job_argument()
@service_option()
@click.option(
    "--max-rate",
    callback=_rate,
    metavar="CREATES/S",
    help="Create no faster than this; none leaves it to the group.",
)
@click.option("--weight", type=FiniteRange(0.01, 1000), help="Its share among equals.")
@click.option("--priority", type=WholeRange(-100, 100), help="Higher goes first.")
@click.option("--stop-when-rejected", metavar="SHARE|COUNT", help="Pause above it, such as 1%.")
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    job: str,
    url: str | None,
    *,
    max_rate: float | str | None,
    weight: float | None,
    priority: int | None,
    stop_when_rejected: str | None,
    as_json: bool,
) -> None:
    """Change JOB while it runs.

    A lower limit or share holds within seconds: what was fed ahead is passed over, and the next
    tick feeds it again at the new pace. A higher one holds from what the next tick feeds.

    Example: injector set welcome-2026-11 --max-rate 1000 --weight 3
    """
    said: dict[str, object] = {
        "max_rate": max_rate,
        "weight": weight,
        "priority": priority,
        "stop_when_rejected": stop_when_rejected,
    }
    changes = {
        key: None if value == NONE else value for key, value in said.items() if value is not None
    }
    if not changes:
        raise click.UsageError("nothing to change; name an option, such as --max-rate 1000")
    found = service_at(url).change(job, changes)
    if as_json:
        print_json(found)
    else:
        print_pairs(describe(found))
