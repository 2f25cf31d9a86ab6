"""Removing a job: out of sight at once, its rows a slice at a time."""

from functools import partial

from sqlalchemy import Connection, Table, delete, select, update

from injector.errors import Conflict
from injector.ledger.changes import Act, note, to_change
from injector.ledger.database import Database
from injector.ledger.pins import unpin
from injector.ledger.tables import (
    counters,
    feeds,
    jobs,
    message_ids,
    notices,
    receipts,
    rejects,
    takebacks,
    waits,
)
from injector.ledger.values import UNDER_WAY

SLICE = 10_000
"""How many rows one transaction removes, so that others get their turn between."""

_LARGE = ((receipts, "chunk"), (message_ids, "chunk"), (rejects, "ordinal"), (waits, "chunk"))


def hide(connection: Connection, *, job_id: str, act: Act) -> None:
    """Take the job's id away; from here on nobody finds it, and another may have the id."""
    job = to_change(connection, job_id, act)
    if job.state in UNDER_WAY:
        raise Conflict(f"job {job_id!r} is {job.state}; cancel it first")
    connection.execute(update(jobs).where(jobs.c.id == job_id).values(id=None))
    unpin(connection, *{job.id, job.names})
    note(connection, act.line(job_id, "deleted", job.state, ""))


def sweep(database: Database) -> None:
    """Remove the rows of all hidden jobs, those that a stopped process left included.

    A receipt that was on its way when its job was hidden may stay behind; keys are never used
    twice, so no other job finds it.
    """
    hidden = select(jobs.c.key).where(jobs.c.id.is_(None))
    for key in database.read(lambda connection: connection.scalars(hidden).all()):
        for table, place in _LARGE:
            while database.write(partial(_remove, table=table, place=place, key=key)):
                pass
        database.write(partial(_remove_rest, key=key))


def _remove(connection: Connection, *, table: Table, place: str, key: int) -> bool:
    """Remove a job's first slice of the table, and tell whether there is more."""
    ours, column = table.c.job == key, table.c[place]
    end = connection.scalar(select(column).where(ours).order_by(column).offset(SLICE).limit(1))
    slice_ = delete(table).where(ours)
    connection.execute(slice_ if end is None else slice_.where(column < end))
    return end is not None


def _remove_rest(connection: Connection, *, key: int) -> None:
    for table in (feeds, counters, takebacks, notices):
        connection.execute(delete(table).where(table.c.job == key))
    connection.execute(delete(jobs).where(jobs.c.key == key))
