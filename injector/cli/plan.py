"""`injector plan`."""

from pathlib import Path

import click

from injector.cli.charts import Curve, draw, plot_option, stairs, write_svg
from injector.cli.findings import look_through
from injector.cli.known_group import known_or_usual
from injector.cli.options import json_option, manifest_argument, service_at, service_option
from injector.cli.output import print_json
from injector.cli.plan_view import show_plan, show_warnings
from injector.cli.planning import Plan, make_plan, plan_json
from injector.cli.preflight import id_problems, queue_problems
from injector.cli.reading import Reading, reading_options, staging_bar
from injector.errors import Misused
from injector.manifest.rendering import compile_job
from injector.settings import read_settings

CHART = "creates/s"


@click.command()
@manifest_argument()
@reading_options
@service_option()
@plot_option()
@json_option()
def command(
    manifest: Path, reading: Reading, url: str | None, plot: Path | None, *, as_json: bool
) -> int:
    """Show what MANIFEST's job would take; nothing is created, and nothing is written.

    Reads every record once: how many there are, which are rejected and why, the ramp, the time,
    the price, the queues needed, and the first three requests. Warns where the service, if it is
    named, has a job of that id already. Exits with 1 when there are more
    rejects than the manifest allows.

    Example: injector plan welcome.yaml --groups groups.yaml
    """
    plan = plan_of(manifest, reading, url)
    show(plan, as_json=as_json)
    if plot:
        write_svg(plot, CHART, curves_of(plan))
    return 1 if plan.has_too_many_rejects else 0


def plan_of(path: Path, reading: Reading, url: str | None) -> Plan:
    """Read manifest and records, and plan the job; the service is asked only if it is named."""
    settings = read_settings()
    manifest = reading.manifest(path)
    service = service_at(url) if url or settings.service_url else None
    configured = reading.group(manifest.group, settings)
    group, notes = known_or_usual(manifest.group, configured, service)
    asked = None if notes else service
    notes += queue_problems(
        group,
        known_here=configured is not None,
        service=asked,
        emulator_host=settings.emulator_host or "",
        pubsub_host=settings.pubsub_host,
        told=manifest.notify.topic if manifest.notify else None,
    )
    notes += id_problems(manifest.job, asked)
    renderer = compile_job(manifest, group)
    source = reading.source(manifest, path)
    with reading.placed(path), staging_bar() as progress:
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
        draw(CHART, curves_of(plan))
        show_warnings(plan)


def curves_of(plan: Plan) -> tuple[Curve, ...]:
    """Return the ramp's create rate over the job's time."""
    steps = ((step.at_s, step.create_rate) for step in plan.estimate.steps)
    points = tuple(stairs(steps, until=plan.estimate.seconds))
    return (Curve("planned", points or ((0.0, 0.0),)),)
