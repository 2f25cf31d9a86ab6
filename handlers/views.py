"""Jobs and groups as the API shows them. Rates are in creates per second, times in Unix seconds."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache

from flask import Response
from pydantic import BaseModel

from handlers.models import (
    DecisionShown,
    GroupShown,
    JobShown,
    RampShown,
    SickShown,
    TakenBack,
    TickShown,
)
from handlers.operation_models import OperationShown
from handlers.parts import Parts
from injector.control.memory import Memory
from injector.control.progress import GroupPace, Progress, group_pace, measured_from, progress, why
from injector.control.sickness import SickQueue
from injector.groups import Group
from injector.ledger.ports import AuditLine, Job, JobState, RampDecision
from injector.manifest import parse_manifest
from injector.pacing.ramp import CHUNK, Ramp


@dataclass(frozen=True, slots=True)
class Viewer:
    """Shows jobs and groups as they are at one moment, and asks once for what they share."""

    parts: Parts
    now: float
    memory_of: Callable[[str], Memory]
    pace_of: Callable[[str], GroupPace | None]
    active_in: Callable[[str], list[Job]]

    def job(self, job: Job) -> JobShown:
        """Show a job with its totals and its pace; `fault` is what keeps its group from more."""
        totals = self.parts.ledger.jobs.totals(job.id)
        waiting = 0 if job.ended else totals.waiting
        return JobShown(
            id=job.id,
            group=job.group,
            state=job.state,
            reason=job.reason,
            fault="" if job.ended else self.memory_of(job.group).said.fault,
            records=job.records,
            chunks=job.chunks,
            created=totals.created,
            existed=totals.existed,
            rejected=totals.rejected,
            staged_rejects=job.rejected,
            settled=totals.settled,
            rejects_allowed=rejects_allowed(job),
            fed=job.cursor,
            chunks_settled=totals.chunks_settled,
            waiting=waiting,
            waits_for=self._waits_for(job) if waiting else [],
            weight=job.weight,
            priority=job.priority,
            max_rate=None if job.max_rate is None else job.max_rate * CHUNK,
            parent=job.parent,
            redrives=job.redrives,
            taken_back=self._taken_back(job),
            digest=job.digest,
            store=job.store,
            version=job.version,
            registered_at=job.registered_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            ramp=self._ramp(job.group),
            **asdict(self._progress(job, job.chunks - totals.chunks_settled)),
            why=self._why(job),
        )

    def group(self, group: Group) -> GroupShown:
        """Show a group with its ramp, its last decision and its active jobs."""
        memory = self.memory_of(group.name)
        pace = self.pace_of(group.name)
        return GroupShown(
            name=group.name,
            injector_queues=list(group.injector_queues),
            queues=len(group.queues),
            topic=group.topic,
            ramp=ramp_view(group.ramp),
            rate_now=pace.rate_now if pace else None,
            rate_allowed=pace.rate_allowed if pace else None,
            state=asdict(memory.ramp),
            growth=asdict(memory.growth),
            last_tick=TickShown.model_validate(asdict(memory.said)),
            sick=[sick_view(each) for each in memory.sick if each.code],
            jobs=[job.id for job in self.active_in(group.name)],
        )

    def _waits_for(self, job: Job) -> list[SickShown]:
        """Show the queues that were seen to refuse what the job's chunks wait for."""
        queues = self.parts.ledger.jobs.waits_for(job.id)
        sick = self.memory_of(job.group).sick
        return [sick_view(each) for each in sick if each.code and each.queue in queues]

    def _taken_back(self, job: Job) -> TakenBack | None:
        if job.state is not JobState.CANCELLED:
            return None
        found = self.parts.ledger.takebacks.of(job.id)
        if found is None:
            return None
        return TakenBack(
            deleted=found.deleted,
            gone=found.gone,
            chunks_done=found.next,
            chunks=found.past,
            done=found.done,
        )

    def _ramp(self, name: str) -> RampShown | None:
        group = self.parts.settings.groups.get(name)
        return ramp_view(group.ramp) if group else None

    def _progress(self, job: Job, chunks_left: int) -> Progress:
        pace = self.pace_of(job.group)
        if pace is None:
            return Progress()
        return progress(job, chunks_left, pace, self.active_in(job.group), now=self.now)

    def _why(self, job: Job) -> str:
        pace = self.pace_of(job.group)
        if pace is None:
            return ""
        said = self.memory_of(job.group).said.reason
        return why(job, pace, self.active_in(job.group), said=said)


def viewer(parts: Parts) -> Viewer:
    """Make a viewer for one request."""
    now, ledger = parts.clock.now(), parts.ledger

    @cache
    def memory_of(name: str) -> Memory:
        return Memory.from_json(ledger.groups.state(name).ramp_json)

    @cache
    def pace_of(name: str) -> GroupPace | None:
        group = parts.settings.groups.get(name)
        if group is None:
            return None
        minutes = ledger.signals.since(name, measured_from(now))
        return group_pace(memory_of(name), group.ramp, minutes, now=now)

    @cache
    def active_in(name: str) -> list[Job]:
        return list(ledger.jobs.active(name))

    return Viewer(parts, now, memory_of, pace_of, active_in)


def ramp_view(ramp: Ramp) -> RampShown:
    """Show a ramp, in injector tasks per second, and how it is steeper than 500/50/5 if it is."""
    return RampShown(**asdict(ramp), dangers=list(ramp.dangers()))


def sick_view(sick: SickQueue) -> SickShown:
    """Show a queue that takes nothing."""
    return SickShown(queue=sick.queue, since=sick.since, seen=sick.seen, code=sick.code)


def decision_view(decision: RampDecision) -> DecisionShown:
    """Show a decision of the controller."""
    known = asdict(decision)
    text = known.pop("evidence_json")
    return DecisionShown(**known, evidence=json.loads(text) if text else {})


def audit_view(line: AuditLine) -> AuditLine:
    """Show a change as the rest of the API shows things: rates are in creates per second."""
    if line.what != "max_rate":
        return line
    return replace(line, old=_creates(line.old), new=_creates(line.new))


def _creates(written: str) -> str:
    """Write a rate in injector tasks per second, as the ledger keeps it, in creates per second."""
    try:
        return f"{float(written) * CHUNK:.6g} creates/s"
    except ValueError:
        return "none"


def rejects_allowed(job: Job) -> int:
    """Return how many rejects the job may have: what it was told, or what its manifest says."""
    if job.rejects_allowed is not None:
        return job.rejects_allowed
    return parse_manifest(job.manifest_json).rejects_allowed(job.records)


def answer(shown: BaseModel, status: int = 200, **headers: str) -> Response:
    """Answer with what is shown; a job or an operation carries its version as its ETag."""
    if isinstance(shown, JobShown | OperationShown):
        headers = {"ETag": f'"{shown.version}"'} | headers
    return Response(shown.model_dump_json(), status, headers, content_type="application/json")
