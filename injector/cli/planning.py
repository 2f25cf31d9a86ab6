"""A plan: what a job would take on its group's curve, and what speaks against it."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from injector.cli.findings import Findings
from injector.delivery.ports import Create
from injector.estimate import (
    API_QUOTA,
    DEFAULT_CONCURRENCY,
    Estimate,
    estimate,
    queues_for_latency,
)
from injector.groups import Group
from injector.manifest.schema import Manifest
from injector.pacing.ramp import QUEUE_MAX_RATE

BODY_SHOWN = 400
PRICED_UP_TO = 5_000_000_000
ASSUMPTIONS = (
    "the group is cold, is used by this job alone, and stays healthy",
    "each task is created once and dispatched once; a retry is one more operation",
    "a million operations of up to 32 KiB each cost USD 0.40, the month's first million nothing",
    "nothing else has used that free million; network, Cloud Run and storage are not in the price",
)


@dataclass(frozen=True, slots=True)
class Plan:
    """A job before it runs."""

    manifest: Manifest
    group: Group
    findings: Findings
    estimate: Estimate
    warnings: tuple[str, ...]

    @property
    def rejects_allowed(self) -> int:
        """Return how many rejects the manifest lets pass."""
        return self.manifest.rejects_allowed(self.findings.records)

    @property
    def has_too_many_rejects(self) -> bool:
        """Tell whether the job would stop itself before it began."""
        return self.findings.rejected > self.rejects_allowed


def make_plan(
    manifest: Manifest,
    group: Group,
    findings: Findings,
    *,
    latency_s: float | None = None,
    notes: tuple[str, ...] = (),
) -> Plan:
    """Plan the job; `latency_s` is how long the target takes for a task, None if unknown."""
    ramp = group.ramp.within(max(1, len(group.injector_queues)))
    found = estimate(
        findings.records, ramp, task_bytes=findings.task_bytes, rejected=findings.rejected
    )
    warnings = (*notes, *_warnings(group, found, latency_s))
    plan = Plan(manifest, group, findings, found, warnings)
    if plan.has_too_many_rejects:
        limit = f"stop_when_rejected: {manifest.stop_when_rejected} allows {plan.rejects_allowed:,}"
        rejects = f"{findings.rejected:,} records are rejected, and {limit}"
        return dataclasses.replace(plan, warnings=(*warnings, rejects))
    return plan


def plan_json(plan: Plan) -> dict[str, object]:
    """Return the plan as a script reads it."""
    found = plan.estimate
    return {
        "job": plan.manifest.job,
        "group": plan.group.name,
        "records": plan.findings.records,
        "rejected": plan.findings.rejected,
        "rejects_allowed": plan.rejects_allowed,
        "chunks": found.chunks,
        "seconds": round(found.seconds, 3),
        "peak_create_rate": found.peak_create_rate,
        "queues": len(plan.group.queues),
        "queues_needed": found.queues_needed,
        "operations": found.operations,
        "cost_usd": round(found.cost_usd, 4),
        "assumptions": list(ASSUMPTIONS),
        "warnings": list(plan.warnings),
        "steps": [dataclasses.asdict(step) for step in found.steps],
        "rejects": [dataclasses.asdict(bad) for bad in plan.findings.rejects],
        "samples": [sample_json(create) for create in plan.findings.samples],
    }


def sample_json(create: Create) -> dict[str, object]:
    """Return a task as a person or a script reads it; a long body is cut."""
    template = create.template
    body = create.body[:BODY_SHOWN].decode(errors="replace")
    return {
        "queue": create.queue,
        "task_id": create.task_id,
        "method": template.method,
        "url": create.url,
        "headers": dict((*template.headers, *create.headers)),
        "body": body + "…" if len(create.body) > BODY_SHOWN else body,
        "token": dataclasses.asdict(template.token) if template.token else None,
        "schedule_time": create.schedule_time,
    }


def _warnings(group: Group, found: Estimate, latency_s: float | None) -> Iterator[str]:
    peak, queues = found.peak_create_rate, len(group.queues)
    if dangers := group.ramp.dangers():
        yield f"the ramp of group {group.name} is unsafe: {' and '.join(dangers)}"
    if group.queues and queues < found.queues_needed:
        yield (
            f"{queues} queues dispatch at most {queues * QUEUE_MAX_RATE:,.0f}/s, and the job is "
            f"created at up to {peak:,.0f}/s: have at least {found.queues_needed} queues, or tasks "
            "pile up in them"
        )
    if latency_s and group.queues:
        yield from _latency_warning(queues, peak, latency_s)
    if peak > API_QUOTA:
        yield f"{peak:,.0f} creates/s are above the default quota of {API_QUOTA:,.0f} requests/s"
    if found.operations > PRICED_UP_TO:
        yield "above 5 thousand million operations a month the price is a matter of contract"


def _latency_warning(queues: int, peak: float, latency_s: float) -> Iterator[str]:
    needed = queues_for_latency(peak, latency_s=latency_s, concurrency=DEFAULT_CONCURRENCY)
    if queues < needed:
        yield (
            f"at {latency_s:g} s a task, {queues} queues with {DEFAULT_CONCURRENCY:,} dispatches "
            f"at once carry {queues * DEFAULT_CONCURRENCY / latency_s:,.0f}/s of {peak:,.0f}/s: "
            f"have {needed} queues, or raise max_concurrent_dispatches (at most 5,000)"
        )
