"""`injector retry`."""

import click

from injector.cli.acting import act_on
from injector.cli.options import jobs_argument, json_option, service_at, service_option


@click.command()
@jobs_argument()
@service_option()
@json_option()
def command(jobs: tuple[str, ...], url: str | None, *, as_json: bool) -> None:
    """Let JOBS that failed or stopped themselves go on, and feed at once what has no receipt.

    A running job has its lost chunks fed again without waiting until they are overdue.

    Example: injector retry welcome-2026-11
    """
    service = service_at(url)
    act_on(
        jobs,
        lambda job: service.act(job, "retry"),
        lambda job: f"{job['id']} is {job['state']}; what has no receipt is fed at the next tick",
        as_json=as_json,
    )
