"""`injector status`."""

import click

from injector.cli.job_view import describe, exit_code
from injector.cli.options import clock_note, job_argument, json_option, service_at, service_option
from injector.cli.output import print_json, print_pairs


@click.command()
@job_argument()
@service_option()
@json_option()
def command(job: str, url: str | None, *, as_json: bool) -> int:
    """Show where JOB is. Exits with 1 when it failed, was cancelled, or stopped itself.

    Example: injector status welcome-2026-11 --json
    """
    found = service_at(url).job(job)
    if as_json:
        print_json(found)
    else:
        print_pairs({**describe(found), **clock_note()})
    return exit_code(found)
