"""Options that several commands share."""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import click

from injector.cli.caller import identity_of
from injector.cli.client import Service
from injector.errors import InjectorError
from injector.setting_types import base_url_of
from injector.settings import read_settings_without_groups

COMPLETED = 200

Decorator = Callable[[Callable[..., object]], Callable[..., object]]


def service_option() -> Decorator:
    """Let the service be named; the environment's is the default."""
    return click.option(
        "--service",
        "url",
        metavar="URL",
        callback=_service_url,
        help="The service's base URL [INJECTOR_SERVICE_URL].",
    )


def json_option() -> Decorator:
    """Let the result be JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def manifest_argument() -> Decorator:
    """Take a manifest's file; what is wrong with it is said by whoever reads it."""
    return click.argument("manifest", type=click.Path(path_type=Path))


def job_argument() -> Decorator:
    """Take a job's id."""
    return click.argument("job", callback=_job_id, shell_complete=_known)


def jobs_argument() -> Decorator:
    """Take the ids of one or several jobs."""
    return click.argument("jobs", nargs=-1, required=True, callback=_job_ids, shell_complete=_known)


def sure_option() -> Decorator:
    """Let a question be answered beforehand."""
    return click.option("--yes", "-y", "is_sure", is_flag=True, help="Do not ask.")


def need_answer(*, is_sure: bool) -> None:
    """Raise click's UsageError where a question is open and nobody can be asked."""
    if not is_sure and not sys.stdin.isatty():
        raise click.UsageError("this is not a terminal, so nobody can be asked; add --yes")


def confirm(question: str, *, is_sure: bool) -> None:
    """Ask unless that is settled; end the command when the answer is no.

    Raises click's UsageError where nobody can be asked.
    """
    if is_sure:
        return
    need_answer(is_sure=is_sure)
    click.confirm(question, abort=True, err=True)


def service_at(url: str | None) -> Service:
    """Return the service that was named, or else the environment's."""
    settings = read_settings_without_groups()
    base_url = (url or settings.base_url).rstrip("/")
    return Service(base_url, identity_of(settings, base_url), announce=_announce)


def service_asked_once(url: str | None) -> Service:
    """Return the same service, asked without a second attempt and without a word of waiting."""
    return replace(service_at(url), attempts=1)


def clock_note() -> dict[str, str]:
    """Say how time goes by in a local run whose clock runs faster; nothing elsewhere."""
    speed = read_settings_without_groups().clock_speed
    return {} if speed == 1.0 else {"clock": f"{speed:g} times as fast as yours"}


def _announce(message: str) -> None:
    click.echo(f"injector: {message}", err=True)


def _service_url(_context: click.Context, _parameter: click.Parameter, url: str | None) -> str:
    try:
        return base_url_of(url) if url else ""
    except ValueError as error:
        needs = "needs the service's own base URL, such as https://i.example"
        raise click.BadParameter(f"{url!r} {needs}: {error}") from error


def _job_id(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value or not value.replace("-", "").replace("_", "").isalnum():
        raise click.BadParameter(f"{value!r} is not a job's id; see injector jobs")
    return value


def _job_ids(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    return tuple(_job_id(context, parameter, value) for value in values)


def _known(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete a job's id from the newest jobs of the environment's service, if it answers."""
    with suppress(InjectorError):
        found = islice(service_asked_once(None).jobs(), COMPLETED)
        return [str(job["id"]) for job in found if str(job["id"]).startswith(typed)]
    return []
