"""A plan: what a job would take on its group's curve, and what speaks against it."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from injector.cli.findings import Findings
from injector.delivery.ports import Create
from injector.estimate import Estimate, estimate
from injector.groups import Group
from injector.manifest.schema import Manifest
from injector.pacing.plan import Capacity, advise, times
from injector.pacing.ramp import CHUNK

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
    """A job before it runs; `finished_s` is when its last task would be done."""

    manifest: Manifest
    group: Group
    findings: Findings
    estimate: Estimate
    finished_s: float
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
    capacity = Capacity(len(group.queues) or max(1, found.queues_needed), latency_s=latency_s)
    finished_s = times(findings.records, ramp, capacity).finished_s
    warnings = (*notes, *_warnings(manifest, group, findings, found, capacity))
    return Plan(manifest, group, findings, found, finished_s, warnings)


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
        "created_s": round(found.seconds, 3),
        "finished_s": round(plan.finished_s, 3),
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


def _warnings(
    manifest: Manifest, group: Group, findings: Findings, found: Estimate, capacity: Capacity
) -> Iterator[str]:
    peak = found.peak_create_rate
    reached = dataclasses.replace(group.ramp, max_rate=peak / CHUNK)
    queues = max(1, len(group.injector_queues))
    for advice in advise(reached, capacity, peak=peak, injector_queues=queues):
        yield advice.text
    allowed = manifest.rejects_allowed(findings.records)
    if findings.rejected > allowed:
        limit = f"stop_when_rejected: {manifest.stop_when_rejected} allows {allowed:,}"
        yield f"{findings.rejected:,} records are rejected, and {limit}"
    if found.operations > PRICED_UP_TO:
        yield "above 5 thousand million operations a month the price is a matter of contract"
