"""Changes that a person or the controller makes to a job, each with its audit line."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert, update

from injector.errors import Conflict, Outdated
from injector.ledger.lookup import clean, load_job
from injector.ledger.notices import set_notice
from injector.ledger.tables import audit, jobs
from injector.ledger.totals import totals
from injector.ledger.values import UNDER_WAY, AuditLine, Job, JobState, Tuning

FOLLOWS: Mapping[JobState, frozenset[JobState]] = {
    JobState.RUNNING: frozenset(set(JobState) - {JobState.RUNNING}),
    JobState.PAUSED: frozenset(set(JobState) - {JobState.PAUSED}),
    JobState.FAILED: frozenset({JobState.RUNNING, JobState.CANCELLED}),
    JobState.CANCELLED: frozenset(),
    JobState.FINISHED: frozenset(),
}
"""Which states may follow which."""


@dataclass(frozen=True, slots=True)
class Act:
    """When a change is made, by whom and why, and of which version of the job, if that matters."""

    at: float
    who: str
    reason: str = ""
    expected_version: int | None = None

    def line(self, job_id: str, what: str, old: object, new: object) -> AuditLine:
        """Write it down as an audit line."""
        return AuditLine(
            self.at, job_id, clean(self.who), what, str(old), str(new), clean(self.reason)
        )


def set_state(connection: Connection, *, job_id: str, state: JobState, act: Act) -> Job:
    """Change the state, if it is another and may follow."""
    job = to_change(connection, job_id, act)
    if state is job.state:
        return job
    _check_follows(connection, job, state)
    ended = None if state in UNDER_WAY else act.at
    values = {"state": state.value, "reason": clean(act.reason), "finished_at": ended}
    change(connection, job, values)
    set_notice(connection, job_id, ended)
    note(connection, act.line(job_id, "state", job.state, state))
    return load_job(connection, job_id)


def _check_follows(connection: Connection, job: Job, state: JobState) -> None:
    if state not in FOLLOWS[job.state]:
        raise Conflict(f"job {job.id!r} is {job.state}; it cannot become {state}")
    settled = totals(connection, job.id).chunks_settled
    if state is JobState.FINISHED and settled < job.chunks:
        raise Conflict(f"job {job.id!r} has settled {settled} of {job.chunks} chunks, not all")


def tune(connection: Connection, *, job_id: str, tuning: Tuning, act: Act) -> Job:
    """Change what differs of weight, priority, rate limit and allowed rejects."""
    job = to_change(connection, job_id, act)
    new = {name: value for name, value in asdict(tuning).items() if value != getattr(job, name)}
    if not new:
        return job
    change(connection, job, new)
    for name, value in new.items():
        note(connection, act.line(job_id, name, getattr(job, name), value))
    return load_job(connection, job_id)


def to_change(connection: Connection, job_id: str, act: Act) -> Job:
    """Return the job, locked; raise Outdated when it is of another version than the act is for."""
    job = load_job(connection, job_id, lock=True)
    if act.expected_version not in (None, job.version):
        raise Outdated(
            f"job {job_id!r} was changed meanwhile: it is at version {job.version}, "
            f"not {act.expected_version}; look at it again"
        )
    return job


def change(connection: Connection, job: Job, values: Mapping[str, object]) -> None:
    """Write the values, as the job's next version."""
    row = {**values, "version": job.version + 1}
    connection.execute(update(jobs).where(jobs.c.id == job.id).values(row))


def note(connection: Connection, line: AuditLine) -> None:
    """Keep an audit line."""
    row = asdict(line)
    del row["id"]
    connection.execute(insert(audit), row)
