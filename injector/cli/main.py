"""The command `injector`: finds a subcommand, runs it, and turns its end into an exit code."""

import logging
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType

import click

from injector.cli.lazy import Lazy
from injector.cli.waits import tell_of_waits
from injector.errors import InjectorError, Misused, Refused, Retryable

COMMANDS: Mapping[str, str] = {
    "init": "Write a commented manifest to begin with.",
    "plan": "Show what a job would take, and create nothing.",
    "simulate": "Run a job in virtual time against a model of the service.",
    "submit": "Stage the records and register the job with the service.",
    "status": "Show where a job is.",
    "watch": "Follow a job with live bars until it ends.",
    "jobs": "List the jobs.",
    "pause": "Pause jobs: no further chunk is begun.",
    "resume": "Let paused jobs go on.",
    "set": "Change a job's rate, weight, priority or allowed rejects.",
    "cancel": "Cancel jobs, and take their waiting tasks back if wished.",
    "retry": "Let jobs that failed or stopped go on.",
    "redrive": "Send rejected, missing or chosen records again.",
    "rm": "Remove jobs that have ended.",
    "audit": "List who changed what of a job.",
    "ramp": "Show a group's rate, and what the controller decided and why.",
    "group": "Operate the queues of a group, planned first and step by step.",
    "diagnose": "Say why a queue or a group dispatches less than it could.",
    "report": "Account for every record of a job.",
    "doctor": "Check credentials, service, queues, ledger, store and clock.",
    "schema": "Print the manifest's JSON Schema for editors.",
    "dashboard": "Open the service's dashboard in a browser, as you.",
    "serve": "Run the service under gunicorn.",
    "emulator": "Run a local Cloud Tasks.",
    "up": "Run emulator, service, ticks and a target on this machine.",
    "db": "Bring the ledger's database to this version.",
    "completion": "Print what completes commands in your shell.",
}
DONE, FAILED, WRONG_USE, UNANSWERED, INTERRUPTED, TERMINATED = 0, 1, 2, 3, 130, 143
EXIT_CODES: Mapping[int, str] = {
    DONE: "done",
    FAILED: "the job failed or has more rejects than it allows, or a check found something",
    WRONG_USE: "wrong use or wrong input",
    UNANSWERED: "no answer: the service, or what it needs, is not reached or does not let you in",
    INTERRUPTED: "interrupted",
    TERMINATED: "terminated",
}


class Commands(Lazy):
    """The commands."""

    table = COMMANDS


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: " + "; ".join(f"{code} {words}" for code, words in EXIT_CODES.items()),
)
@click.version_option(package_name="cloud-tasks-injector", prog_name="injector")
def cli() -> None:
    """Turn each record of a file into one Cloud Tasks task, exactly once, at a safe rate.

    Example: injector plan welcome.yaml
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command and leave with its exit code, one of EXIT_CODES."""
    open_streams()
    quiet()
    tell_of_waits()
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    signal.signal(signal.SIGTERM, _leave)
    sys.exit(run(arguments))


def open_streams() -> None:
    """Stand in for closed standard streams, or the next file opened would become one."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stand_in = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115  (it stays)
            setattr(sys, name, stand_in)


def quiet() -> None:
    """Show nothing that libraries log: what matters to a person reaches them as an error."""
    logging.lastResort = logging.NullHandler()


def run(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit code; no traceback is ever shown."""
    try:
        code = cli.main(arguments, prog_name="injector", standalone_mode=False)
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return WRONG_USE
    except (click.Abort, KeyboardInterrupt):
        return _end("interrupted", INTERRUPTED)
    except InjectorError as error:
        return _end(str(error), _code_of(error))
    except OSError as error:
        return _end_of_output(error)
    except Exception as error:  # noqa: BLE001  (the last line of defence)
        return _end(_fault(error), FAILED)
    return code if isinstance(code, int) else DONE


def _leave(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _code_of(error: InjectorError) -> int:
    """Tell a job that failed from one of which nothing could be learnt."""
    if isinstance(error, Misused):
        return WRONG_USE
    return UNANSWERED if isinstance(error, Retryable | Refused) else FAILED


def _end(message: str, code: int) -> int:
    """Say why it ends, if anything can still be said."""
    with suppress(OSError):
        click.echo(f"injector: {message}", err=True)
    return code


def _end_of_output(error: OSError) -> int:
    """End when the disk is full; quietly when whoever reads the output, such as head, has gone."""
    if not isinstance(error, BrokenPipeError):
        _end(f"{error.filename or 'cannot go on'}: {error.strerror or error}", FAILED)
    sys.stdout = None  # else Python complains when it flushes it
    return FAILED


def _fault(error: Exception) -> str:
    """Say in one line what went wrong inside, and where, for a report."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" at {frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""
    return f"a fault of injector itself, please report it: {type(error).__name__}: {error}{where}"
