"""Options of several operations, each named as the field of the spec that it sets."""

import click

from injector.cli.options import Decorator
from injector.cli.trouble import seconds_of


def latency_option() -> Decorator:
    """Let it be said how long the target takes."""
    return click.option(
        "--target-latency",
        "latency_s",
        type=seconds_of,
        metavar="SPAN",
        help="How long the target takes for a task, such as 2s, for the plan.",
    )


def stop_option() -> Decorator:
    """Let the operation pause itself when the target fails."""
    return click.option(
        "--stop-on-errors",
        "stop",
        is_flag=True,
        default=None,
        help="Pause when 5 % of the attempts fail, after the cut, instead of climbing again.",
    )


def blind_option() -> Decorator:
    """Let the operation go by the clock alone."""
    return click.option(
        "--blind",
        is_flag=True,
        default=None,
        help="Go by the clock alone, where nobody can say what the target answers.",
    )
