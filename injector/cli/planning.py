"""A plan: what a job would take on its group's curve, and what speaks against it."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

from injector.cli.findings import Findings
from injector.delivery.ports import Create
from injector.estimate import Estimate, estimate, estimate_messages
from injector.groups import Group
from injector.manifest.schema import Manifest
from injector.pacing.plan import API_QUOTA, Capacity, advise, times, within_quota
from injector.pacing.ramp import CHUNK, Ramp
from injector.publish_wire import ID_ATTRIBUTE
from injector.wording import are, counted

BODY_SHOWN = 400
PRICED_UP_TO = 5_000_000_000
ASSUMPTIONS = (
    "the group is cold, is used by this job alone, and stays healthy",
    "each task is created once and dispatched once; a retry is one more operation",
    "a million operations of up to 32 KiB each cost USD 0.40, the month's first million nothing",
    "nothing else has used that free million; network, Cloud Run and storage are not in the price",
)
MESSAGE_ASSUMPTIONS = (
    "the group is cold, is used by this job alone, and stays healthy",
    "each message is published once; a retry or a hedge that was late is published twice",
    "publishing costs USD 40 per TiB beyond the month's first 10 GiB",
    "each subscription that delivers costs as much again, and is not in the price",
    "nothing else has used the free volume; network, Cloud Run and storage are not in the price",
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
    def assumptions(self) -> tuple[str, ...]:
        """Return what the figures assume."""
        return MESSAGE_ASSUMPTIONS if self.manifest.message else ASSUMPTIONS

    @property
    def quota_share(self) -> float:
        """Return how much of the API's requests creates and injector tasks use at the peak."""
        if self.manifest.message:
            return 0.0
        return self.estimate.peak_create_rate * (1 + 1 / CHUNK) / API_QUOTA

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
    ramp = within_quota(ramp) if manifest.task else ramp
    found = _estimate(manifest, findings, ramp)
    finished_s, capacity = found.seconds, None
    if manifest.task:
        capacity = _capacity(group, found, latency_s)
        finished_s = times(findings.records, ramp, capacity).finished_s
    warnings = (*notes, *_warnings(manifest, group, findings, found, capacity))
    return Plan(manifest, group, findings, found, finished_s, warnings)


def _capacity(group: Group, found: Estimate, latency_s: float | None) -> Capacity:
    """Return what the group's queues dispatch, as they are set or by the service's defaults."""
    usual = Capacity(len(group.queues) or max(1, found.queues_needed), latency_s=latency_s)
    return dataclasses.replace(
        usual,
        rate=group.rate or usual.rate,
        concurrency=group.concurrency or usual.concurrency,
    )


def _estimate(manifest: Manifest, findings: Findings, ramp: Ramp) -> Estimate:
    records, size, rejected = findings.records, findings.task_bytes, findings.rejected
    if manifest.message:
        return estimate_messages(records, ramp, message_bytes=size, rejected=rejected)
    return estimate(records, ramp, task_bytes=size, rejected=rejected)


def plan_json(plan: Plan) -> dict[str, object]:
    """Return the plan as a script reads it."""
    found = plan.estimate
    return {
        "job": plan.manifest.job,
        "group": plan.group.name,
        "records": plan.findings.records,
        "rejected": plan.findings.rejected,
        "rejects_allowed": plan.rejects_allowed,
        "repeated": plan.findings.repeated,
        "compared": plan.findings.compared,
        "blank": plan.findings.blank,
        "chunks": found.chunks,
        "created_s": round(found.seconds, 3),
        "finished_s": round(plan.finished_s, 3),
        "peak_create_rate": found.peak_create_rate,
        "peak_quota_share": round(plan.quota_share, 4),
        "topic": plan.group.topic,
        "queues": len(plan.group.queues),
        "queues_needed": found.queues_needed,
        "operations": found.operations,
        "published_bytes": found.published_bytes,
        "cost_usd": round(found.cost_usd, 4),
        "assumptions": list(plan.assumptions),
        "warnings": list(plan.warnings),
        "steps": [dataclasses.asdict(step) for step in found.steps],
        "rejects": [dataclasses.asdict(bad) for bad in plan.findings.rejects],
        "samples": [sample_json(create) for create in plan.findings.samples],
    }


def sample_json(create: Create) -> dict[str, object]:
    """Return a task or a message as a person or a script reads it; a long body is cut."""
    template = create.template
    body = create.body[:BODY_SHOWN].decode(errors="replace")
    body = body + "…" if len(create.body) > BODY_SHOWN else body
    if create.is_message:
        attributes = (*template.headers, *create.headers, (ID_ATTRIBUTE, create.task_id))
        return {
            "topic": create.queue,
            "data": body,
            "attributes": dict(attributes),
            "ordering_key": create.ordering_key,
        }
    return {
        "queue": create.queue,
        "task_id": create.task_id,
        "method": template.method,
        "url": create.url,
        "headers": dict((*template.headers, *create.headers)),
        "body": body,
        "token": dataclasses.asdict(template.token) if template.token else None,
        "schedule_time": create.schedule_time,
    }


def _warnings(
    manifest: Manifest,
    group: Group,
    findings: Findings,
    found: Estimate,
    capacity: Capacity | None,
) -> Iterator[str]:
    """Yield what speaks against the job; without a capacity there are no queues to fill.

    What stands in the way is told of the rate that the job would reach without it.
    """
    if capacity:
        peak = _estimate(manifest, findings, group.ramp).peak_create_rate
        wanted = dataclasses.replace(group.ramp, max_rate=peak / CHUNK)
        queues = max(1, len(group.injector_queues))
        for advice in advise(wanted, capacity, peak=found.peak_create_rate, injector_queues=queues):
            yield advice.text
    if group.retry and group.retry.max_attempts == 1 and not group.retry.max_retry_duration_s:
        yield (
            "retry.max_attempts is 1: a task whose target is starting or overloaded is lost; "
            "give 10 or more, or -1"
        )
    if manifest.message and manifest.message.ordering_key:
        yield (
            "with an ordering key nothing is hedged, and order is kept within a chunk of 100 "
            "records only"
        )
    allowed = manifest.rejects_allowed(findings.records)
    if findings.rejected > allowed:
        limit = f"stop_when_rejected: {manifest.stop_when_rejected} allows {allowed:,}"
        rejected = findings.rejected
        yield f"{counted(rejected, 'record')} {are(rejected)} rejected, and {limit}"
    if found.operations > PRICED_UP_TO:
        yield "above 5 thousand million operations a month the price is a matter of contract"
