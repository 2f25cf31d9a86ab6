"""`injector submit`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import click

from injector.cli.client import Json, Service
from injector.cli.findings import findings_of
from injector.cli.job_view import ENDED
from injector.cli.known_group import group_of
from injector.cli.options import (
    json_option,
    manifest_argument,
    need_answer,
    service_at,
    service_option,
)
from injector.cli.output import count, print_json, say
from injector.cli.plan import plan_of, show
from injector.cli.plan_view import show_plan, show_rejects, show_warnings
from injector.cli.planning import Plan, make_plan
from injector.cli.preflight import queue_problems
from injector.cli.reading import Reading, reading_options, staging_bar
from injector.cli.unregistered import Registering, registering
from injector.cli.watch import watch
from injector.errors import Misused
from injector.groups import Group
from injector.manifest.rendering import compile_job
from injector.settings import is_loopback, read_settings
from injector.staging.before import Before
from injector.staging.seal import Staged
from injector.staging.stage import stage
from injector.wording import are, counted


@click.command()
@manifest_argument()
@reading_options
@service_option()
@click.option("--store", metavar="URL", help="Where the chunks go [INJECTOR_STORE_URL].")
@click.option("--dry-run", is_flag=True, help="Show the plan and stop, as `injector plan` does.")
@click.option("--yes", "-y", "is_sure", is_flag=True, help="Do not ask.")
@click.option("--watch", "follows", is_flag=True, help="Follow the job until it ends.")
@json_option()
def command(  # noqa: PLR0913  (one for each option)
    manifest: Path,
    reading: Reading,
    url: str | None,
    store: str | None,
    *,
    dry_run: bool,
    is_sure: bool,
    follows: bool,
    as_json: bool,
) -> int:
    """Stage the records of MANIFEST in chunks, and register its job with the service.

    Submitting the same job again changes nothing; the same id with other content is refused.
    Exits with 1 when there are more rejects than the manifest allows; then nothing is registered,
    and what was staged for it is removed again.

    Example: injector submit welcome.yaml --yes --watch
    """
    if dry_run:
        plan = plan_of(manifest, reading, url)
        show(plan, as_json=as_json)
        return 1 if plan.has_too_many_rejects else 0
    need_answer(is_sure=is_sure)
    service = service_at(url)
    with _planned(service, manifest, reading, _store_for(service, store)) as (plan, registration):
        if not _is_wanted(plan, is_sure=is_sure):
            return 1
        job, is_new = registration.register(plan.manifest)
    _tell(job, registration.staged, is_new=is_new, as_json=as_json)
    return watch(service, plan.manifest.job) if follows else 0


def _store_for(service: Service, store: str | None) -> str:
    """Return where the chunks go; a service elsewhere cannot read this machine's folders."""
    store = store or read_settings().store_url
    is_folder = "://" not in store or store.startswith("file://")
    if is_folder and not is_loopback(urlsplit(service.url).hostname):
        raise Misused(
            f"{service.url} cannot read the folder {store}; set --store or INJECTOR_STORE_URL "
            "to a bucket, such as gs://BUCKET/chunks"
        )
    return store


@contextmanager
def _planned(
    service: Service, path: Path, reading: Reading, store: str
) -> Iterator[tuple[Plan, Registering]]:
    """Stage the records, once the service knows the group, and plan the job that they make.

    What was staged is taken back unless the job is registered.
    """
    settings = read_settings()
    manifest = reading.manifest(path)
    group = group_of(service.group(manifest.group))
    _check_queues(service, group)
    group = reading.group(manifest.group, settings) or group
    source, renderer = reading.source(manifest, path), compile_job(manifest, group)
    before = Before.staging(manifest.job, store)
    with reading.placed(path), staging_bar() as progress:
        staged = stage(source, manifest, store, clock=settings.clock, progress=progress)
    with registering(service, staged, before) as registration:
        findings = findings_of(staged, renderer, now=settings.clock.now())
        yield make_plan(manifest, group, findings, latency_s=reading.latency_s), registration


def _check_queues(service: Service, group: Group) -> None:
    """Refuse a group with a queue that cannot be used, before a record is read."""
    found = queue_problems(
        group, known_here=False, service=service, emulator_host="", pubsub_host=""
    )
    if found:
        lines = "\n".join(f"  {line}" for line in found)
        raise Misused(f"the queues of group {group.name} are not ready:\n{lines}")


def _is_wanted(plan: Plan, *, is_sure: bool) -> bool:
    """Tell whether the job is to be registered; ask, unless that is settled."""
    if plan.has_too_many_rejects:
        show_rejects(plan)
        show_warnings(plan)
        click.echo(f"injector: nothing is registered; {_way_out(plan)}", err=True)
        return False
    if is_sure:
        return True
    show_plan(plan)
    show_warnings(plan)
    what = "message" if plan.manifest.message else "task"
    return click.confirm(f"Create {counted(plan.findings.records, what)}?", err=True)


def _way_out(plan: Plan) -> str:
    """Say what can be done about too many rejects."""
    records, rejected = plan.findings.records, plan.findings.rejected
    limit = plan.manifest.stop_when_rejected
    return (
        f"{count(rejected)} of {count(records)} records {are(rejected)} rejected, and "
        f"stop_when_rejected: {limit} allows {count(plan.rejects_allowed)}. Mend the records, or "
        f"allow more in the manifest, such as stop_when_rejected: {rejected}"
    )


def _tell(job: Json, staged: Staged, *, is_new: bool, as_json: bool) -> None:
    if as_json:
        print_json(job)
        return
    rejected = f", {count(staged.rejected)} of them rejected" if staged.rejected else ""
    verdict = "registered" if is_new else "is registered already; nothing new"
    records = f"{counted(staged.records, 'record')}{rejected}"
    say(f"{job['id']} {verdict}: {records}")
    say(_next(job))


def _next(job: Json) -> str:
    """Say what to look at now."""
    if job["state"] in ENDED:
        return f"it is {job['state']}; see what became of it: injector report {job['id']}"
    return f"follow it: injector watch {job['id']}"
