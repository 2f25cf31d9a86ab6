"""How far the waiting tasks of cancelled jobs are taken back."""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection, Row, Select, select, update

from injector.errors import Conflict
from injector.ledger.changes import Act, note, to_change
from injector.ledger.database import Database
from injector.ledger.lookup import find
from injector.ledger.statements import add_new
from injector.ledger.tables import jobs, takebacks
from injector.ledger.values import JobState, TakeBack
from injector.wording import counted


class TakeBackTable:
    """The take-backs of all jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, job_id: str, *, not_before: float, now: float, who: str = "") -> TakeBack:
        """Want the waiting tasks of a cancelled job back; asked again, it is the same wish."""
        act = Act(now, who)
        work = partial(_ask, job_id=job_id, not_before=not_before, act=act)
        return self._database.write(work)

    def of(self, job_id: str) -> TakeBack | None:
        """Return how far it is; None when it was not asked for."""
        query = _takebacks().where(jobs.c.id == job_id)
        row = self._database.read(lambda connection: connection.execute(query).one_or_none())
        return None if row is None else _takeback(row)

    def open(self, group: str, *, now: float) -> Sequence[TakeBack]:
        """Return the group's take-backs that can go on now."""
        query = _takebacks().where(
            jobs.c.queue_group == group,
            takebacks.c.next < takebacks.c.past,
            takebacks.c.not_before <= now,
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [_takeback(row) for row in rows]

    def advance(self, found: TakeBack, *, past: int, deleted: int, gone: int) -> bool:
        """Note that the chunks up to `past` are done; False when someone else was quicker."""
        move = partial(_advance, found=found, past=past, deleted=deleted, gone=gone)
        return self._database.write(move)


def _takebacks() -> Select[*tuple[object, ...]]:
    c = takebacks.c
    return (
        select(jobs.c.id, c.next, c.past, c.deleted, c.gone, c.not_before)
        .join_from(takebacks, jobs, c.job == jobs.c.key)
        .order_by(jobs.c.key)
    )


def _takeback(row: Row[*tuple[object, ...]]) -> TakeBack:
    return TakeBack(*row)  # type: ignore[arg-type]  # the columns that _takebacks names


def _ask(connection: Connection, *, job_id: str, not_before: float, act: Act) -> TakeBack:
    job = to_change(connection, job_id, act)
    if job.state is not JobState.CANCELLED:
        raise Conflict(f"job {job_id!r} is {job.state}; its tasks can be taken back once cancelled")
    row = {"next": 0, "past": job.cursor, "deleted": 0, "gone": 0, "not_before": not_before}
    if add_new(connection, takebacks, row | {"job": find(connection, job_id).key}):
        what = f"the tasks of {counted(job.cursor, 'chunk')}"
        note(connection, act.line(job_id, "take back", "", what))
    return _takeback(connection.execute(_takebacks().where(jobs.c.id == job_id)).one())


def _advance(
    connection: Connection, *, found: TakeBack, past: int, deleted: int, gone: int
) -> bool:
    here = (takebacks.c.job == find(connection, found.job).key) & (takebacks.c.next == found.next)
    row = {"next": past, "deleted": found.deleted + deleted, "gone": found.gone + gone}
    return connection.execute(update(takebacks).where(here), row).rowcount == 1
