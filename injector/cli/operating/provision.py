"""`injector group provision`."""

from dataclasses import asdict

import click

from injector.cli.operating.frame import operation_command
from injector.cli.ranges import FiniteRange, WholeRange
from injector.operations.provision import PROVISION
from injector.operations.values import Fields
from injector.settings import Settings


def _as_configured(group: str, fields: Fields, settings: Settings, _url: str) -> Fields:
    """Add what the configuration here says of the group; options count for more."""
    found = settings.groups.get(group)
    if found is None:
        return fields
    said = {
        "injector_queues": list(found.injector_queues),
        "injector_rate": found.ramp.initial_rate / max(1, len(found.injector_queues)),
        "rate": found.rate,
        "concurrency": found.concurrency,
        "retry": asdict(found.retry) if found.retry else None,
    }
    return {name: value for name, value in said.items() if value is not None} | dict(fields)


command = operation_command(
    PROVISION,
    does=(
        "Create GROUP's queues, or bring those there are to the group's `dispatch` and `retry`: "
        "only what differs is set, and never an injector queue's rate, which the controller has."
    ),
    example="welcome --here",
    options=(
        click.option(
            "--rate",
            type=FiniteRange(0, 500, min_open=True),
            help="Dispatches/s of each queue [dispatch.rate of the group].",
        ),
        click.option(
            "--concurrency",
            type=WholeRange(1, 5000),
            help="Dispatches at once of each queue [dispatch.concurrency of the group].",
        ),
    ),
    fill=_as_configured,
)
