"""Options of several operations, each named as the field of the spec that it sets."""

import click

from injector.cli.options import Decorator
from injector.cli.ranges import FiniteRange
from injector.cli.trouble import count_of, seconds_of, written
from injector.manifest.fields import instant


@written
def instant_of(text: str) -> float:
    """Read an instant in RFC 3339, as Unix seconds."""
    return instant(text).timestamp()


def initial_option() -> Decorator:
    """Let it be said at which total the queues begin."""
    return click.option(
        "--initial",
        type=FiniteRange(0, min_open=True),
        help="Dispatches/s of all queues together at first.  [default: 500]",
    )


def tasks_option() -> Decorator:
    """Let it be said how many tasks there are."""
    return click.option(
        "--tasks", type=count_of, metavar="COUNT", help="How many tasks wait, for the plan."
    )


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
