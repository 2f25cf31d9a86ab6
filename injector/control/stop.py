"""How a job stops itself: it pauses with the reason, and goes on when a person says so."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from injector.control.feed import resumed_at
from injector.control.sickness import SickQueue, broken, to_mend
from injector.errors import Conflict
from injector.groups import Group
from injector.ledger.ports import AuditLine, Job, Jobs, JobState
from injector.wording import are

FAULT = "injector"
REJECTS = "stop_when_rejected"
LIMIT = "rejects_allowed"


def stop_for_fault(jobs: Jobs, job: Job, reason: str, *, now: float) -> None:
    """Pause a job that cannot go on before a person has mended something."""
    _pause(jobs, job, reason, who=FAULT, now=now)


def stop_broken(
    jobs: Jobs, group: Group, sick: Sequence[SickQueue], *, nothing_taken: bool, now: float
) -> None:
    """Pause jobs that wait for what a person has to mend, where that is the group's trouble.

    A job whose chunks have a single queue each cannot tell from any of them. Only what was
    refused since it was resumed counts against it.
    """
    queues = len(group.queues)
    if not to_mend(sick, queues, since=0.0, nothing_taken=nothing_taken):
        return
    for job in jobs.active(group.name):
        if job.state is not JobState.RUNNING:
            continue
        since = resumed_at(jobs, job)
        found = to_mend(sick, queues, since=since, nothing_taken=nothing_taken)
        if {each.queue for each in found} & set(jobs.waits_for(job.id)):
            stop_for_fault(jobs, job, broken(found, queues), now=now)


def stop_for_rejects(jobs: Jobs, job: Job, *, limit: float, now: float) -> None:
    """Pause a job with more rejects than it may have, once: whoever resumes it has decided.

    A limit that was changed since counts anew. Costs a query of the totals; call it where a
    record was just rejected.
    """
    rejected = jobs.totals(job.id).rejected
    if rejected <= limit or _has_stopped(jobs.audit(job.id)):
        return
    reason = (
        f"{rejected} of {job.records} records {are(rejected)} rejected, above its limit of "
        f"{limit:g}; look at the rejects, then resume or cancel"
    )
    _pause(jobs, job, reason, who=REJECTS, now=now)


def _has_stopped(newest_first: Iterable[AuditLine]) -> bool:
    """Tell whether the job stopped for its rejects after its limit was last changed."""
    lines = takewhile(lambda line: line.what != LIMIT, newest_first)
    return any(line.who == REJECTS for line in lines)


def _pause(jobs: Jobs, job: Job, reason: str, *, who: str, now: float) -> None:
    try:
        jobs.set_state(job.id, JobState.PAUSED, reason, now=now, who=who)
    except Conflict:
        return  # It has ended meanwhile, which is stopped enough.
