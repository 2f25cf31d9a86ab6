"""Steering jobs under way: each change is compared and set, and has its line in the audit.

If-Match with a job's ETag lets a change through only if nobody changed the job since.
"""

from flask import Blueprint, Response

from handlers.access import caller
from handlers.asking import body, expected_version
from handlers.context import parts
from handlers.logs import event
from handlers.models import Cancel, Change, JobShown, Nothing, Redriven
from handlers.once import once
from handlers.views import answer, viewer
from injector.control.recall import slower
from injector.errors import Conflict, Misused, Outdated
from injector.ledger.ports import Job, JobState, Tuning
from injector.manifest.schema import share_or_count
from injector.pacing.ramp import CHUNK

MAX_BODY = 64 * 1024
TRIES = 5
MARGIN_S = 5.0

steering = Blueprint("steering", __name__)


@steering.patch("/jobs/<job_id>")
@once
def change(job_id: str) -> Response:
    """Change a job's rate limit, weight, priority or allowed rejects.

    What was fed of jobs that go slower then is recalled: the next tick feeds it again, evenly.
    """
    asked = body(Change, limit=MAX_BODY, name="a change")
    _tune(job_id, asked)
    event("job.tuned", job=job_id, who=caller().name, **asked.model_dump(exclude_unset=True))
    return answer(_shown(job_id))


@steering.delete("/jobs/<job_id>")
@once
def remove(job_id: str) -> Response:
    """Remove a job that has ended, and all that is kept of it but its audit."""
    parts().ledger.jobs.delete(
        job_id, now=_now(), who=caller().name, expected_version=expected_version()
    )
    event("job.removed", job=job_id, who=caller().name)
    return Response(status=204)


@steering.post("/jobs/<job_id>/pause")
@once
def pause(job_id: str) -> Response:
    """Pause a job: from now on no chunk of it is begun."""
    return _set_state(job_id, JobState.PAUSED)


@steering.post("/jobs/<job_id>/resume")
@once
def resume(job_id: str) -> Response:
    """Let a paused job go on, from the next tick; what it was sent meanwhile is fed again."""
    return _set_state(job_id, JobState.RUNNING)


@steering.post("/jobs/<job_id>/cancel")
@once
def cancel(job_id: str) -> Response:
    """Cancel a job for good; its waiting tasks stay, unless they are to be taken back."""
    asked = body(Cancel, limit=MAX_BODY, name="a cancellation")
    if asked.take_back:
        _check_can_take_back(job_id)
    shown = _set_state(job_id, JobState.CANCELLED, reads_body=False)
    if not asked.take_back:
        return shown
    begun_s = parts().settings.handler_budget_s + MARGIN_S
    parts().ledger.takebacks.ask(
        job_id,
        not_before=_now() + begun_s * parts().settings.clock_speed,
        now=_now(),
        who=caller().name,
    )
    return answer(_shown(job_id))


def _check_can_take_back(job_id: str) -> None:
    group = parts().settings.groups.get(parts().ledger.jobs.get(job_id).group)
    if group and group.topic:
        raise Misused(
            f"job {job_id} publishes to {group.topic}; a message that is published cannot be "
            "taken back, so cancel it without deleting, or seek or purge the subscriptions"
        )


@steering.post("/jobs/<job_id>/retry")
@once
def retry(job_id: str) -> Response:
    """Let a job that failed or stopped go on, and feed at once what has no receipt."""
    shown = _set_state(job_id, JobState.RUNNING)
    parts().ledger.jobs.hasten(job_id, now=_now())
    return shown


@steering.post("/jobs/<job_id>/redrive")
@once
def redrive(job_id: str) -> Response:
    """Send a job's rejects again, as a new generation of its chunks."""
    body(Nothing, limit=MAX_BODY, name="empty")
    opened = parts().ledger.jobs.redrive(
        job_id, now=_now(), who=caller().name, expected_version=expected_version()
    )
    event("job.redriven", job=job_id, who=caller().name, opened=opened)
    return answer(Redriven(opened=opened, job=_shown(job_id)))


def _set_state(job_id: str, state: JobState, *, reads_body: bool = True) -> Response:
    if reads_body:
        body(Nothing, limit=MAX_BODY, name="empty")
    parts().ledger.jobs.set_state(
        job_id, state, "", now=_now(), who=caller().name, expected_version=expected_version()
    )
    event(f"job.{state}", job=job_id, who=caller().name)
    return answer(_shown(job_id))


def _tune(job_id: str, asked: Change) -> None:
    """Change what is asked of the job as it is; look again when someone else was quicker."""
    wanted = expected_version()
    for _ in range(TRIES):
        job = parts().ledger.jobs.get(job_id)
        if job.ended:
            raise Conflict(f"job {job_id!r} is {job.state}; there is nothing left to tune")
        version = job.version if wanted is None else wanted
        tuning = tuned(job, asked)
        try:
            parts().ledger.jobs.tune(
                job_id,
                tuning,
                now=_now(),
                who=caller().name,
                expected_version=version,
                recall=slower(job, tuning, parts().ledger.jobs.active(job.group)),
            )
        except Outdated:
            if wanted is not None:
                raise
            continue
        return
    raise Conflict(f"job {job_id!r} is being changed by others; try again")


def tuned(job: Job, asked: Change) -> Tuning:
    """Return the job's settings with the change; what the change leaves out stays."""
    said = asked.model_fields_set
    max_rate = asked.max_rate / CHUNK if asked.max_rate else None
    allowed = share_or_count(asked.stop_when_rejected, job.records)
    return Tuning(
        weight=asked.weight if "weight" in said else job.weight,
        priority=asked.priority if "priority" in said else job.priority,
        max_rate=max_rate if "max_rate" in said else job.max_rate,
        rejects_allowed=allowed if "stop_when_rejected" in said else job.rejects_allowed,
    )


def _shown(job_id: str) -> JobShown:
    return viewer(parts()).job(parts().ledger.jobs.get(job_id))


def _now() -> float:
    return parts().clock.now()
