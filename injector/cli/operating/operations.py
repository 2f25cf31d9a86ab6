"""`injector group operations`."""

import click

from injector.cli.operating.book import LedgerBook, book_of
from injector.cli.operating.here import stay
from injector.cli.operating.there import follow
from injector.cli.operating.view import describe, exit_code, follower
from injector.cli.options import Decorator, json_option, service_at, service_option
from injector.cli.output import moment, print_json, print_lines, print_pairs, print_table, say
from injector.operations.values import Fields
from injector.settings import read_settings

HEADINGS = ("operation", "group", "state", ">step", "began", "why")


@click.group()
def command() -> None:
    """List operations; show, follow, pause, resume or cancel one.

    They are the service's, where there is one, else those of the ledger here; --here asks that.

    Example: injector group operations list
    """


def _here_option() -> Decorator:
    return click.option("--here", is_flag=True, help="Ask the ledger of INJECTOR_LEDGER_URL.")


def _operation_argument() -> Decorator:
    return click.argument("operation", metavar="OPERATION-ID")


@command.command("list")
@click.argument("group", default="")
@service_option()
@_here_option()
@json_option()
def list_(group: str, url: str, *, here: bool, as_json: bool) -> None:
    """List operations, those of GROUP or all, newest first.

    Example: injector group operations list welcome
    """
    with book_of(read_settings(), url, here=here) as book:
        found = book.operations(group)
    if as_json:
        print_lines(found)
    else:
        print_table(HEADINGS, map(_row, found))


@command.command("show")
@_operation_argument()
@service_option()
@_here_option()
@json_option()
def show_(operation: str, url: str, *, here: bool, as_json: bool) -> int:
    """Show where an operation is; exits with 1 when it is paused or has failed.

    Example: injector group operations show ramp-20261201-090000-3fa9
    """
    with book_of(read_settings(), url, here=here) as book:
        found = book.operation(operation)
    if as_json:
        print_json(found)
    else:
        print_pairs(describe(found))
    return exit_code(found)


@command.command("watch")
@_operation_argument()
@service_option()
@json_option()
def watch_(operation: str, url: str, *, as_json: bool) -> int:
    """Follow an operation of the service until it ends or pauses.

    Example: injector group operations watch ramp-20261201-090000-3fa9
    """
    service = service_at(url)
    found = service.operation(operation)
    with follower(found, read_settings().clock, is_new=False, as_json=as_json) as show:
        return exit_code(follow(service, operation, show))


def _steering(act: str, does: str) -> click.Command:
    """Make the command that steers an operation; one that goes on from here stays with it."""

    @command.command(
        act, help=f"{does}\n\nExample: injector group operations {act} ramp-20261201-090000-3fa9"
    )
    @_operation_argument()
    @service_option()
    @_here_option()
    @json_option()
    def steer(operation: str, url: str, *, here: bool, as_json: bool) -> int:
        with book_of(read_settings(), url, here=here) as book:
            found = book.steer(operation, act)
            if act == "resume" and isinstance(book, LedgerBook):
                return stay(book.runner, book.get(operation), is_new=False, as_json=as_json)
        _say(found, as_json=as_json)
        return 1 if found["state"] == "failed" else 0

    return steer


pause_ = _steering(
    "pause", "Pause an operation: what it has set stays set, and no further step is taken."
)
resume_ = _steering(
    "resume", "Let a paused operation go on; from here, this command then goes on with it."
)
cancel_ = _steering("cancel", "End an operation for good; it says what it leaves behind.")


def _row(operation: Fields) -> tuple[str, ...]:
    step = f"{operation['step']}/{operation['steps'] or '?'}"
    names = (str(operation[name]) for name in ("id", "group", "state"))
    return (*names, step, moment(operation["started_at"]), str(operation["reason"]))


def _say(operation: Fields, *, as_json: bool) -> None:
    if as_json:
        print_lines([operation])
    else:
        words = f"{operation['id']} is {operation['state']}: {operation['reason']}"
        say(words)
