"""`injector group expand`."""

from collections.abc import Mapping

import click

from injector.cli.operating.frame import operation_command
from injector.cli.options import service_at
from injector.cli.ranges import FiniteRange, WholeRange
from injector.errors import Misused, Retryable
from injector.groups import expand
from injector.operations.expand import EXPAND
from injector.operations.values import Fields
from injector.pacing.ramp import CHUNK
from injector.settings import Settings


def _as_known(group: str, fields: Fields, settings: Settings, url: str) -> Fields:
    """Add what the group creates, and when it was last expanded: by the service, if it knows.

    Without it, the most that the group's ramp allows.
    """
    known: dict[str, object] = {}
    if (url or settings.service_url) and "/queues/" not in group:
        known = _by_service(group, settings, url)
    found = settings.groups.get(group)
    if "creates_per_s" not in known and found:
        known["creates_per_s"] = found.ramp.max_rate * CHUNK
    return known | dict(fields)


def _by_service(group: str, settings: Settings, url: str) -> dict[str, object]:
    try:
        shown = service_at(url).group(group)
    except Retryable:
        return {}
    known: dict[str, object] = {}
    allowed, growth = shown.get("rate_allowed"), shown.get("growth")
    if isinstance(allowed, int | float) and allowed > 0:
        known["creates_per_s"] = float(allowed)
    at = growth.get("interleaved_at") if isinstance(growth, Mapping) else None
    if isinstance(at, int | float) and at > 0:
        known["since_last_s"] = max(0.0, settings.clock.now() - at)
    return known


def _names(
    _context: click.Context, _parameter: click.Parameter, expression: str | None
) -> list[str] | None:
    if expression is None:
        return None
    try:
        return list(expand(expression))
    except Misused as error:
        raise click.BadParameter(str(error)) from error


command = operation_command(
    EXPAND,
    does=(
        "Give GROUP more queues. They are made alike to those there are; once the configuration "
        "names them, the controller leads their share of the creates up on 500/50/5. In an "
        "--emergency they sort between the queues there are, and are used at once."
    ),
    example="welcome --to 400",
    options=(
        click.option("--to", type=WholeRange(2), help="So many queues in all."),
        click.option(
            "--add",
            metavar="EXPRESSION",
            callback=_names,
            help="These queues, such as projects/p/locations/l/queues/q-[0200-0399].",
        ),
        click.option(
            "--emergency",
            is_flag=True,
            default=None,
            help="Every second name with a letter, q-0000a, q-0002a …: at most 50 % more.",
        ),
        click.option(
            "--creates",
            "creates_per_s",
            type=FiniteRange(0, min_open=True),
            help="Creates/s of the whole group [what the service allows, or the ramp's most].",
        ),
    ),
    fill=_as_known,
)
