"""`injector group`."""

from collections.abc import Mapping

import click

from injector.cli.lazy import Lazy

COMMANDS: Mapping[str, str] = {
    "show": "Show a group's queues as they are, or as Terraform's imports.",
    "check": "Say what is wrong with a group's queues.",
    "provision": "Create a group's queues, or bring them to what the group says.",
    "expand": "Give a group more queues, on the curve or in an emergency.",
    "resume": "Let a group's paused queues dispatch again, on the curve.",
    "ramp": "Raise or lower a group's dispatch rate, on the curve.",
    "traffic-split": "Move a service's traffic to a version with new queues.",
    "keep-warm": "Keep a group's queues from going cold.",
    "spread": "Spread many tasks of one instant over the curve.",
    "diagnose": "Say why the queues dispatch less than they could.",
    "operations": "List operations, and pause, resume or cancel one.",
}


class Operations(Lazy):
    """The operations on groups."""

    table = COMMANDS
    package = "injector.cli.operating"


@click.group(cls=Operations)
def command() -> None:
    """Operate the queues of a group; each change is planned first, and takes the time it needs.

    `plan` shows what would happen and changes nothing; `apply` does it, step by step. Killed or
    interrupted, the same `apply` goes on where it was. With a service, the service does it, and
    no command needs to stay.

    Example: injector group ramp plan welcome --to 4000
    """
