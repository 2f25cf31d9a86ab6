"""`injector group traffic-split`."""

import click

from injector.cli.operating.fields import blind_option
from injector.cli.operating.frame import operation_command
from injector.cli.ranges import FiniteRange
from injector.cli.trouble import seconds_of
from injector.operations.traffic_split import TRAFFIC_SPLIT

NUMBER = FiniteRange(0, min_open=True)

command = operation_command(
    TRAFFIC_SPLIT,
    does=(
        "Move the traffic of a Cloud Run or App Engine service to a version that brings new "
        "queues, on 500/50/5, while GROUP's target is well; roll back when it is not, or when "
        "it is cancelled."
    ),
    example="welcome --app-service projects/P/locations/L/services/web --to web-00042 --tps 100000",
    options=(
        click.option(
            "--app-service",
            "service",
            required=True,
            metavar="NAME",
            help="projects/P/locations/L/services/S (Cloud Run) or apps/A/services/S (App Engine).",
        ),
        click.option("--to", required=True, metavar="VERSION", help="The revision or version."),
        click.option("--tps", type=NUMBER, required=True, help="Tasks/s of all queues at peak."),
        click.option(
            "--new-share", type=NUMBER, help="Share of it for the new queues in the end [0.5]."
        ),
        click.option("--start", type=NUMBER, help="Tasks/s of the new queues at first [500]."),
        click.option("--growth", type=NUMBER, help="Growth at each step [1.5]."),
        click.option(
            "--interval", "interval_s", type=seconds_of, metavar="SPAN", help="Of a step [5m]."
        ),
        click.option(
            "--shard-by",
            type=click.Choice(["random", "cookie", "ip"]),
            help="How App Engine tells users apart [random].",
        ),
        blind_option(),
    ),
)
