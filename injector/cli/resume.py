"""`injector resume`."""

import click

from injector.cli.acting import act_on
from injector.cli.options import jobs_argument, json_option, service_at, service_option


@click.command()
@jobs_argument()
@service_option()
@json_option()
def command(jobs: tuple[str, ...], url: str | None, *, as_json: bool) -> None:
    """Let paused JOBS go on, from the next tick.

    What was dispatched while they were paused is fed again.

    Example: injector resume welcome-2026-11
    """
    service = service_at(url)
    act_on(
        jobs,
        lambda job: service.act(job, "resume"),
        lambda job: f"{job['id']} is {job['state']}; follow it: injector watch {job['id']}",
        as_json=as_json,
    )
