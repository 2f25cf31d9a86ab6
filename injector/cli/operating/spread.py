"""`injector group spread`."""

from pathlib import Path

import click

from injector.cli.charts import plot_option
from injector.cli.operating.fields import (
    blind_option,
    initial_option,
    instant_of,
    stop_option,
    tasks_option,
)
from injector.cli.operating.frame import apply_command, given, here_option, planned
from injector.cli.operating.view import show_plan
from injector.cli.options import Decorator, json_option, service_option
from injector.operations.many import spread_plan
from injector.operations.spread import SPREAD
from injector.settings import read_settings

EXAMPLE = "welcome --at 2026-12-01T09:00:00Z --tasks 1000000"


def _at_option() -> Decorator:
    return click.option(
        "--at", type=instant_of, required=True, metavar="TIME", help="The instant, in RFC 3339."
    )


@click.group("spread")
def command() -> None:
    """Spread many tasks of one instant over the curve that begins then.

    Tasks that a job has yet to create get schedule times on it: `schedule: {at: TIME}` in the
    manifest. What waits in GROUP's queues already is held back by their rates, which apply
    lowers before the instant and raises from then on.

    Example: injector group spread plan welcome --at 2026-12-01T09:00:00Z --tasks 1000000
    """


@command.command("plan")
@click.argument("group", default="")
@_at_option()
@tasks_option()
@initial_option()
@plot_option()
@here_option()
@service_option()
@json_option()
def plan_(  # noqa: PLR0913  (one for each option)
    group: str,
    at: float,
    tasks: int | None,
    initial: float | None,
    url: str,
    *,
    plot: Path | None,
    here: bool,
    as_json: bool,
) -> None:
    """Show when the tasks leave; with GROUP, also how its queues' rates get there.

    Example: injector group spread plan --tasks 1000000 --at 2026-12-01T09:00:00Z --plot s.svg
    """
    if group:
        fields = given({"at": at, "tasks": tasks, "initial": initial})
        found = planned(SPREAD, group, fields, read_settings(), url=url, here=here)
    elif tasks:
        found = spread_plan(tasks, at)
    else:
        raise click.UsageError("say how many tasks there are, by --tasks, or name a GROUP")
    show_plan(found, as_json=as_json, plot=plot)


command.add_command(
    apply_command(
        SPREAD,
        EXAMPLE,
        (_at_option(), tasks_option(), initial_option(), stop_option(), blind_option()),
    )
)
