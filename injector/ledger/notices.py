"""Whom to tell that a job has ended, until they have been told."""

from collections.abc import Sequence

from sqlalchemy import Connection, insert, select, update

from injector.ledger.database import Database
from injector.ledger.lookup import find
from injector.ledger.tables import jobs, notices
from injector.ledger.values import Notice


class NoticeTable:
    """The notices of all jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due(self, group: str, *, now: float, limit: int = 10) -> Sequence[Notice]:
        """Return the group's notices to give by now, the oldest first."""
        query = (
            select(jobs.c.id, notices.c.url, notices.c.tries)
            .join_from(notices, jobs, notices.c.job == jobs.c.key)
            .where(notices.c.due <= now, jobs.c.queue_group == group, jobs.c.id.is_not(None))
            .order_by(notices.c.due)
            .limit(limit)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [Notice(*row) for row in rows]

    def put_off(self, notice: Notice, *, until: float | None) -> None:
        """Note another try, and when the next one is due; None for no more."""
        self._database.write(lambda connection: _put_off(connection, notice, until))


def add_notice(connection: Connection, key: int, url: str) -> None:
    """Remember whom to tell when the job ends."""
    if url:
        connection.execute(insert(notices), {"job": key, "url": url, "due": None, "tries": 0})


def set_notice(connection: Connection, job_id: str, due: float | None) -> None:
    """Let the notice be given from then on, or not at all for a job that goes on after all."""
    key = select(jobs.c.key).where(jobs.c.id == job_id).scalar_subquery()
    connection.execute(update(notices).where(notices.c.job == key), {"due": due, "tries": 0})


def _put_off(connection: Connection, notice: Notice, until: float | None) -> None:
    ours = (notices.c.job == find(connection, notice.job).key) & (notices.c.tries == notice.tries)
    connection.execute(update(notices).where(ours), {"due": until, "tries": notice.tries + 1})
