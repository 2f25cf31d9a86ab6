"""`injector rm`."""

import click

from injector.cli.acting import act_on
from injector.cli.client import Json, Service
from injector.cli.options import (
    confirm,
    jobs_argument,
    json_option,
    service_at,
    service_option,
    sure_option,
)


@click.command()
@jobs_argument()
@service_option()
@sure_option()
@json_option()
def command(jobs: tuple[str, ...], url: str | None, *, is_sure: bool, as_json: bool) -> None:
    """Remove JOBS that have ended, with their receipts and rejects; the audit stays.

    Their ids are free again, and their chunks stay in the store.

    Example: injector rm welcome-2026-11
    """
    service = service_at(url)
    confirm(f"Remove {', '.join(jobs)} with their receipts?", is_sure=is_sure)
    act_on(
        jobs,
        lambda job: _remove(service, job),
        lambda job: f"{job['id']} is removed",
        as_json=as_json,
    )


def _remove(service: Service, job: str) -> Json:
    service.remove(job)
    return {"id": job, "removed": True}
