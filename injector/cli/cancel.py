"""`injector cancel`."""

import click

from injector.cli.acting import act_on
from injector.cli.client import Json, Service
from injector.cli.job_view import taken_back
from injector.cli.options import (
    confirm,
    jobs_argument,
    json_option,
    service_at,
    service_option,
    sure_option,
)
from injector.cli.output import say

POLL_S = 2.0


@click.command()
@jobs_argument()
@service_option()
@click.option("--delete", "take_back", is_flag=True, help="Delete the tasks that wait, too.")
@click.option("--watch", "follows", is_flag=True, help="Follow --delete until it is done.")
@sure_option()
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    jobs: tuple[str, ...],
    url: str | None,
    *,
    take_back: bool,
    follows: bool,
    is_sure: bool,
    as_json: bool,
) -> None:
    """Cancel JOBS for good. Tasks that were created run on, unless --delete takes them back.

    They are taken back by the ticks, no faster than the group may create, and counted. The same
    command again asks for no more than once.

    Example: injector cancel welcome-2026-11 --delete --watch
    """
    service = service_at(url)
    deletes = " and delete their waiting tasks" if take_back else ""
    confirm(f"Cancel {', '.join(jobs)} for good{deletes}?", is_sure=is_sure)
    act_on(
        jobs,
        lambda job: service.act(job, "cancel", take_back=take_back),
        _words,
        as_json=as_json,
    )
    for job in jobs if take_back and follows else ():
        _follow(service, job)


def _words(job: Json) -> str:
    told = f"; {taken_back(job)} so far" if taken_back(job) else ""
    return f"{job['id']} is {job['state']}{told}"


def _follow(service: Service, job: str) -> None:
    last = ""
    while True:
        found = service.job(job)
        told, line = found["taken_back"], f"{job}: {taken_back(found)}"
        if line != last:
            say(line, stderr=True)
        last = line
        if not isinstance(told, dict) or told["done"]:
            return
        service.clock.sleep(POLL_S)
