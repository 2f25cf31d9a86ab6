"""`injector pause`."""

import click

from injector.cli.acting import act_on
from injector.cli.options import jobs_argument, json_option, service_at, service_option


@click.command()
@jobs_argument()
@service_option()
@json_option()
def command(jobs: tuple[str, ...], url: str | None, *, as_json: bool) -> None:
    """Pause JOBS: chunks under way are finished, and no other is begun.

    Example: injector pause welcome-2026-11
    """
    service = service_at(url)
    act_on(
        jobs,
        lambda job: service.act(job, "pause"),
        lambda job: f"{job['id']} is {job['state']}; go on by: injector resume {job['id']}",
        as_json=as_json,
    )
