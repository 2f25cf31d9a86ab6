"""Jobs and groups as the API shows them. Rates are in creates per second, times in Unix seconds."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cache

from handlers.parts import Parts
from injector.control.memory import Memory
from injector.control.progress import GroupPace, group_pace, measured_from, progress
from injector.groups import Group
from injector.ledger.ports import Job, RampDecision
from injector.pacing.ramp import Ramp

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Viewer:
    """Shows jobs and groups as they are at one moment, and asks once for what they share."""

    parts: Parts
    now: float
    memory_of: Callable[[str], Memory]
    pace_of: Callable[[str], GroupPace | None]
    active_in: Callable[[str], list[Job]]

    def job(self, job: Job) -> Json:
        """Show a job with its totals and its pace; `fault` is what keeps its group from more."""
        totals = self.parts.ledger.jobs.totals(job.id)
        return {
            "id": job.id,
            "group": job.group,
            "state": job.state.value,
            "reason": job.reason,
            "fault": self.memory_of(job.group).said.fault if job.finished_at is None else "",
            "records": job.records,
            "chunks": job.chunks,
            "created": totals.created,
            "existed": totals.existed,
            "rejected": totals.rejected,
            "settled": totals.settled,
            "fed": job.cursor,
            "chunks_settled": totals.chunks_settled,
            "weight": job.weight,
            "priority": job.priority,
            "max_rate": job.max_rate,
            "parent": job.parent,
            "digest": job.digest,
            "store": job.store,
            "registered_at": job.registered_at,
            "started_at": job.started_at,
            "finished_at": job.finished_at,
            "ramp": self._ramp(job.group),
            **self._progress(job, job.chunks - totals.chunks_settled),
        }

    def group(self, group: Group) -> Json:
        """Show a group with its ramp, its last decision and its active jobs."""
        memory = self.memory_of(group.name)
        pace = self.pace_of(group.name)
        return {
            "name": group.name,
            "injector_queues": group.injector_queues,
            "queues": len(group.queues),
            "topic": group.topic,
            "ramp": ramp_view(group.ramp),
            "rate_now": pace.rate_now if pace else None,
            "rate_allowed": pace.rate_allowed if pace else None,
            "state": asdict(memory.ramp),
            "last_tick": asdict(memory.said),
            "jobs": [job.id for job in self.active_in(group.name)],
        }

    def _ramp(self, name: str) -> Json | None:
        group = self.parts.settings.groups.get(name)
        return ramp_view(group.ramp) if group else None

    def _progress(self, job: Job, chunks_left: int) -> Mapping[str, float | None]:
        pace = self.pace_of(job.group)
        if pace is None:
            return {"rate_now": None, "rate_allowed": None, "eta_s": None}
        rivals = self.active_in(job.group)
        return asdict(progress(job, chunks_left, pace, rivals, now=self.now))


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


def ramp_view(ramp: Ramp) -> Json:
    """Show a ramp, in injector tasks per second, and how it is steeper than 500/50/5 if it is."""
    return {**asdict(ramp), "dangers": ramp.dangers()}


def decision_view(decision: RampDecision) -> Json:
    """Show a decision of the controller."""
    return asdict(decision)
