"""`injector group resume`."""

import click

from injector.cli.operating.fields import (
    blind_option,
    initial_option,
    tasks_option,
)
from injector.cli.operating.frame import operation_command
from injector.operations.resume import RESUME

command = operation_command(
    RESUME,
    does=(
        "Let GROUP's paused queues dispatch again on 500/50/5, each to its own rate: one after "
        "the other, or all at once at rates that climb. Pauses itself when the target fails."
    ),
    example="welcome --by rate",
    options=(
        click.option(
            "--by",
            type=click.Choice(("turn", "rate")),
            help="One after the other, or all at once at rates that climb.  [default: turn]",
        ),
        initial_option(),
        tasks_option(),
        click.option(
            "--stop-on-errors/--cut-on-errors",
            "stop",
            default=None,
            help="After the cut that errors lead to, pause or climb again.  [default: stop]",
        ),
        blind_option(),
    ),
)
