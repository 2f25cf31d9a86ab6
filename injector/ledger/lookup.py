"""From a job's id, a person's text, to its row."""

from collections.abc import Iterable
from dataclasses import dataclass, fields

from sqlalchemy import Connection, bindparam, select

from injector.errors import NotFound
from injector.ledger.tables import jobs
from injector.ledger.values import Job, JobState

_FIND = select(jobs.c.key, jobs.c.queue_group, jobs.c.chunks, jobs.c.generation).where(
    jobs.c.id == bindparam("id")
)

COLUMNS = [jobs.c["queue_group" if field.name == "group" else field.name] for field in fields(Job)]
"""What a Job is read from, in the order of its fields."""

_STATE = [field.name for field in fields(Job)].index("state")
_JOB = select(*COLUMNS).where(jobs.c.id == bindparam("id"))
_LOCKED = _JOB.with_for_update()


@dataclass(frozen=True, slots=True)
class Found:
    """What all rows of a job go by; but for the least `generation`, it never changes."""

    key: int
    group: str
    chunks: int
    generation: int


def find(connection: Connection, job_id: str) -> Found:
    """Return the job's row, or raise NotFound."""
    row = connection.execute(_FIND, {"id": job_id}).one_or_none() if storable(job_id) else None
    if row is None:
        raise unknown(job_id)
    return Found(*row)


def load_job(connection: Connection, job_id: str, *, lock: bool = False) -> Job:
    """Return the job, locked until the transaction ends if asked, or raise NotFound."""
    statement = _LOCKED if lock else _JOB
    row = connection.execute(statement, {"id": job_id}).one_or_none() if storable(job_id) else None
    if row is None:
        raise unknown(job_id)
    return job_of(row)


def job_of(row: Iterable[object]) -> Job:
    """Read a row of COLUMNS."""
    values = list(row)
    values[_STATE] = JobState(str(values[_STATE]))
    return Job(*values)  # type: ignore[arg-type]


def unknown(job_id: str) -> NotFound:
    """Say that there is no such job."""
    return NotFound(f"there is no job {job_id!r}; `injector jobs` lists them")


def storable(text: str) -> bool:
    """Tell whether both databases can keep the text; PostgreSQL has no NUL, neither half a pair."""
    return "\0" not in text and text == clean(text)


def clean(text: str, limit: int = 1000) -> str:
    """Return the text as both databases can keep it, cut to `limit` characters."""
    kept = text[:limit].replace("\0", "\N{SYMBOL FOR NULL}")
    return kept.encode("utf-8", "replace").decode("utf-8")
