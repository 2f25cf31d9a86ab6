"""`injector group ramp`."""

import click

from injector.cli.operating.fields import blind_option, latency_option, stop_option
from injector.cli.operating.frame import operation_command
from injector.cli.ranges import FiniteRange
from injector.operations.ramp import RAMP

RATE = FiniteRange(0, min_open=True)

command = operation_command(
    RAMP,
    does=(
        "Raise or lower GROUP's dispatch rate on 500/50/5, watching what the target answers: "
        "before a release that makes tasks dearer, after an outage, for a new target."
    ),
    example="welcome --to 4000",
    options=(
        click.option("--to", type=RATE, required=True, help="Dispatches/s of all queues together."),
        click.option(
            "--from", "start", type=RATE, help="Where it is warm already [what it dispatches now]."
        ),
        latency_option(),
        stop_option(),
        blind_option(),
    ),
)
