"""`injector group keep-warm`."""

import click

from injector.cli.operating.frame import operation_command
from injector.cli.trouble import seconds_of
from injector.operations.keep_warm import KEEP_WARM

command = operation_command(
    KEEP_WARM,
    does=(
        "Keep GROUP's queues from going cold by a small stream of tasks that do nothing: the "
        "service answers them, and they carry the header X-Injector-Keep-Warm."
    ),
    example="welcome --every 60s --for 8h",
    options=(
        click.option(
            "--every",
            "every_s",
            type=seconds_of,
            metavar="SPAN",
            help="The time between two tasks of a queue, up to 4m.  [default: 60s]",
        ),
        click.option(
            "--for",
            "for_s",
            type=seconds_of,
            metavar="SPAN",
            help="How long  [until it is cancelled].",
        ),
    ),
)
