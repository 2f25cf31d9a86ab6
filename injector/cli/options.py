"""Options that several commands share."""

from collections.abc import Callable
from pathlib import Path

import click

from injector.cli.client import Service
from injector.settings import read_settings

Decorator = Callable[[Callable[..., object]], Callable[..., object]]


def service_option() -> Decorator:
    """Let the service be named; the environment's is the default."""
    return click.option(
        "--service", "url", metavar="URL", help="The service's base URL [INJECTOR_SERVICE_URL]."
    )


def json_option() -> Decorator:
    """Let the result be JSON."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for scripts.")


def manifest_argument() -> Decorator:
    """Take a manifest's file; what is wrong with it is said by whoever reads it."""
    return click.argument("manifest", type=click.Path(path_type=Path))


def job_argument() -> Decorator:
    """Take a job's id."""
    return click.argument("job", callback=_job_id)


def service_at(url: str | None) -> Service:
    """Return the service that was named, or else the environment's."""
    settings = read_settings()
    base_url = (url or settings.base_url).rstrip("/")
    return Service(base_url, settings.token, announce=_announce)


def _announce(message: str) -> None:
    click.echo(f"injector: {message}", err=True)


def _job_id(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not value or not value.replace("-", "").replace("_", "").isalnum():
        raise click.BadParameter(f"{value!r} is not a job's id; see injector jobs")
    return value
