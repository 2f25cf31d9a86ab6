"""What each page shows, gathered at a cost that does not grow with the jobs."""

from collections.abc import Mapping
from dataclasses import asdict

from handlers.dashboard.operations import course_of, courses_of
from handlers.dashboard.rejects import find
from handlers.dashboard.series import series
from handlers.dashboard.steering import buttons
from handlers.known import known_group
from handlers.parts import Parts
from handlers.queues import queues_of
from handlers.views import Viewer, audit_view, viewer
from injector.groups import Group
from injector.ledger.ports import JobState
from injector.pacing.ramp import CHUNK, warmth

JOBS = 25
DECISIONS = 50
CHANGES = 20
MINUTE_S = 60.0

Sight = Mapping[str, object]


def overview(parts: Parts, *, state: str, after: str) -> Sight:
    """Show the groups, and a page of jobs, newest first."""
    view = viewer(parts)
    wanted = JobState(state) if state else None
    jobs = parts.ledger.jobs.list(after=after, limit=JOBS, state=wanted)
    return {
        "jobs": [view.job(job) for job in jobs],
        "groups": [view.group(group) for group in parts.settings.groups.values()],
        "states": list(JobState),
        "state": state,
        "after": after,
        "following": jobs[-1].id if len(jobs) == JOBS else None,
    }


def of_job(parts: Parts, job_id: str) -> Sight:
    """Show a job, its group's ramp, and who changed it."""
    view = viewer(parts)
    job = view.job(parts.ledger.jobs.get(job_id))
    group = parts.settings.groups.get(job.group)
    return {
        "job": job,
        "buttons": buttons(job),
        "group": view.group(group) if group else None,
        "decisions": parts.ledger.groups.decisions(job.group, limit=DECISIONS),
        "changes": [audit_view(line) for line in parts.ledger.jobs.audit(job_id, limit=CHANGES)],
        "chunk": CHUNK,
    }


def of_group(parts: Parts, name: str) -> Sight:
    """Show a group with its ramp, its warmth, its operations and its active jobs."""
    view = viewer(parts)
    group = known_group(parts.settings, name)
    jobs = [view.job(job) for job in view.active_in(name)]
    return {
        "group": view.group(group),
        "jobs": jobs,
        "courses": courses_of(parts, name),
        "decisions": parts.ledger.groups.decisions(name, limit=DECISIONS),
        "waiting": sum(job.fed - job.chunks_settled - job.waiting for job in jobs),
        "held": sum(job.waiting for job in jobs),
        "held_for": {each.queue for job in jobs for each in job.waits_for},
        "warm": _warm(view, group),
        "chunk": CHUNK,
    }


def of_operation(parts: Parts, operation_id: str) -> Sight:
    """Show an operation with each of its steps."""
    return {"course": course_of(parts, operation_id)}


def of_rejects(parts: Parts, job_id: str, *, text: str, after: int) -> Sight:
    """Show rejects that hold a text."""
    job = parts.ledger.jobs.get(job_id)
    found = find(parts.ledger.jobs, job_id, text, after=after)
    return {"job": job, "found": found, "contains": text, "after": after}


def of_queues(parts: Parts, name: str) -> Sight:
    """Ask the service for each of the group's queues."""
    return {"queues": queues_of(parts, known_group(parts.settings, name)), "name": name}


def of_minutes(parts: Parts, name: str, *, window: int) -> Sight:
    """Lay out the group's last minutes for the charts; `waiting` counts chunks."""
    known_group(parts.settings, name)
    now, ledger = parts.clock.now(), parts.ledger
    minutes = ledger.signals.since(name, now - window * MINUTE_S)
    decisions = ledger.groups.decisions(name, limit=DECISIONS)
    found = series(minutes, decisions, now=now, window=window)
    return asdict(found) | {"now": now, "waiting": _waiting(parts, name)}


def _waiting(parts: Parts, name: str) -> int:
    """Count the group's chunks that were fed, are not settled, and wait for no sick queue."""
    jobs = parts.ledger.jobs
    totals = [jobs.totals(job.id) for job in jobs.active(name)]
    return sum(total.fed - total.chunks_settled - total.waiting for total in totals)


def _warm(view: Viewer, group: Group) -> float:
    """Return the creates per second at which the group would begin a job now."""
    state = view.memory_of(group.name).ramp
    idle_s = max(0.0, view.now - state.active_at)
    return warmth(group.ramp, reached=state.reached, idle_s=idle_s) * CHUNK
