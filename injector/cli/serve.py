"""`injector serve`."""

import os
import sys

import click

CONFIG = "python:handlers.gunicorn_config"


@click.command()
def command() -> None:
    """Run the service under gunicorn, as the INJECTOR_ settings of the environment say.

    Takes this process over, so that a signal reaches gunicorn itself. On one's own machine
    INJECTOR_GROUPS=groups.yaml and INJECTOR_AUTH=off are enough.

    Example: injector serve
    """
    os.execv(sys.executable, (sys.executable, "-m", "gunicorn", "--config", CONFIG))  # noqa: S606  (no shell)
