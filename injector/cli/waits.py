"""Tell a person what a command waits for, where only a library knows it."""

import logging
import re

import click

_AGAIN = re.compile(r"retrying after exception: (.*)", re.DOTALL)
_MOST = 200


class _Told(logging.Handler):
    """Says on the error stream that a bucket is asked again."""

    def emit(self, record: logging.LogRecord) -> None:
        if found := _AGAIN.search(record.getMessage()):
            reason = " ".join(found[1].split())[:_MOST]
            click.echo(f"injector: the bucket does not answer ({reason}); trying again", err=True)


class _Sought(logging.Handler):
    """Says once that credentials are looked for, which takes seconds where there are none."""

    def emit(self, record: logging.LogRecord) -> None:
        if "etadata server" in record.getMessage():
            click.echo("injector: looking for this machine's Google credentials", err=True)
            logging.getLogger(record.name).disabled = True


def tell_of_waits() -> None:
    """Tell of the tries of gs://, which go on for about half a minute, and then fail."""
    for name, level, handler in (
        ("gcsfs", logging.DEBUG, _Told()),
        ("google.auth.compute_engine._metadata", logging.WARNING, _Sought()),
    ):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.propagate = False
        logger.handlers = [handler]
