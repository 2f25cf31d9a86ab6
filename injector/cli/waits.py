"""Tell a person what a command waits for, where only a library knows it."""

import logging
import re
from collections.abc import Callable

import click

_AGAIN = re.compile(r"retrying after exception: (.*)", re.DOTALL)
_SOUGHT = re.compile(r"Metadata server")
_MOST = 200


class Told(logging.Filter):
    """Tells of the records of a logger that match, in place of them; the others go on.

    The logger lets through more than the program asks for, so what is below the root's level
    ends here.
    """

    def __init__(self, pattern: re.Pattern[str], tell: Callable[[re.Match[str]], None]) -> None:
        super().__init__()
        self._pattern, self._tell = pattern, tell

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep the record unless it is told of, or too slight."""
        if found := self._pattern.search(record.getMessage()):
            self._tell(found)
            return False
        return record.levelno >= logging.getLogger().level


def tell_of_waits() -> None:
    """Tell of the tries of gs://, which go on for about half a minute, and then fail."""
    for name, level, told in (
        ("gcsfs", logging.DEBUG, Told(_AGAIN, _again)),
        ("google.auth.compute_engine._metadata", logging.WARNING, Told(_SOUGHT, _once(_sought))),
    ):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addFilter(told)


def _again(found: re.Match[str]) -> None:
    reason = " ".join(found[1].split())[:_MOST]
    click.echo(f"injector: the bucket does not answer ({reason}); trying again", err=True)


def _sought(_: re.Match[str]) -> None:
    click.echo("injector: looking for this machine's Google credentials", err=True)


def _once(tell: Callable[[re.Match[str]], None]) -> Callable[[re.Match[str]], None]:
    """Tell the first time only: each look-up takes seconds where there are no credentials."""
    left = [tell]
    return lambda found: left.pop()(found) if left else None
