"""`injector plan`."""

from pathlib import Path

import click

from injector.cli.findings import look_through
from injector.cli.options import json_option, manifest_argument
from injector.cli.output import print_json
from injector.cli.plan_view import show_plan, show_warnings
from injector.cli.planning import Plan, make_plan, plan_json
from injector.cli.reading import Reading, reading_options, staging_bar
from injector.errors import Misused
from injector.groups import Group
from injector.manifest.request import compile_request
from injector.settings import read_settings

ANY_QUEUE = "projects/PROJECT/locations/LOCATION/queues/QUEUE"


@click.command()
@manifest_argument()
@reading_options
@json_option()
def command(manifest: Path, reading: Reading, *, as_json: bool) -> int:
    """Show what MANIFEST's job would take; nothing is created, and nothing is written.

    Reads every record once: how many there are, which are rejected and why, the ramp, the time,
    the price, the queues needed, and the first three requests. Exits with 1 when there are more
    rejects than the manifest allows.

    Example: injector plan welcome.yaml --groups groups.yaml
    """
    plan = plan_of(manifest, reading)
    show(plan, as_json=as_json)
    return 1 if plan.has_too_many_rejects else 0


def plan_of(path: Path, reading: Reading) -> Plan:
    """Read manifest and records, and plan the job."""
    settings = read_settings()
    manifest = reading.manifest(path)
    group, notes = known_or_usual(manifest.group, reading.group(manifest.group, settings))
    renderer = compile_request(manifest, task_queues(group), ramp=group.ramp)
    source = reading.source(manifest, path)
    with staging_bar() as progress:
        findings = look_through(source, renderer, now=settings.clock.now(), progress=progress)
    if not (findings.records or reading.allow_empty):
        raise Misused(f"{source.location}: 0 records; nothing to do")
    return make_plan(manifest, group, findings, latency_s=reading.latency_s, notes=notes)


def show(plan: Plan, *, as_json: bool) -> None:
    """Show the plan to a person or to a script."""
    if as_json:
        print_json(plan_json(plan))
    else:
        show_plan(plan)
        show_warnings(plan)


def known_or_usual(name: str, group: Group | None) -> tuple[Group, tuple[str, ...]]:
    """Return the group, or one on the usual curve with a note that it is not known here."""
    if group:
        return group, ()
    note = f"group {name!r} is not known here, so this is for 500/50/5; give --groups"
    return Group(name, (), ()), (note,)


def task_queues(group: Group) -> tuple[str, ...]:
    """Return where the group's tasks go: its queues, or its topic."""
    return group.queues or ((group.topic,) if group.topic else (ANY_QUEUE,))
