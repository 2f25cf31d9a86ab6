"""How far each topic has been told of what happened to jobs and groups.

The audit and the decisions are kept anyway, in order and each with a number, so they are the
events; what is remembered of a topic is the last number that it was told of.
"""

from collections.abc import Sequence
from functools import partial

from sqlalchemy import ColumnElement, Connection, func, select, update

from injector.ledger.database import Database
from injector.ledger.statements import add_new
from injector.ledger.tables import audit, decisions, event_marks, jobs
from injector.ledger.values import AuditLine, RampDecision

AUDIT, DECISIONS, STARTED = "audit", "decisions", "started"


_MICRO = 1_000_000


class EventMarkTable:
    """The marks of all topics; a topic begins with what happens after it was first asked for."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def audit_after(
        self, topic: str, *, settled: float, limit: int
    ) -> Sequence[tuple[int, AuditLine]]:
        """Return what changed of jobs since the topic was told last, oldest first."""
        c = audit.c
        query = select(c.id, c.at, c.job, c.who, c.what, c.old, c.new, c.reason).order_by(c.id)
        mark = self._mark(topic, AUDIT, c.id)
        rows = self._database.read(
            lambda connection: connection.execute(query.where(c.id > mark).limit(limit)).all()
        )
        found = [(row[0], AuditLine(*row[1:])) for row in rows]
        whole = without_gaps([(number, line.at) for number, line in found], mark, settled=settled)
        return found[:whole]

    def decisions_after(
        self, topic: str, *, settled: float, limit: int
    ) -> Sequence[tuple[int, str, RampDecision]]:
        """Return the groups' decisions since the topic was told last, oldest first."""
        c = decisions.c
        columns = (c.id, c.queue_group, c.at, c.action, c.rate, c.concurrency, c.reason)
        query = select(*columns, c.evidence_json).order_by(c.id)
        mark = self._mark(topic, DECISIONS, c.id)
        rows = self._database.read(
            lambda connection: connection.execute(query.where(c.id > mark).limit(limit)).all()
        )
        found = [(row[0], row[1], RampDecision(*row[2:])) for row in rows]
        whole = without_gaps(
            [(number, each.at) for number, _, each in found], mark, settled=settled
        )
        return found[:whole]

    def started_after(self, topic: str, *, limit: int) -> Sequence[tuple[int, str, str, float]]:
        """Return the jobs that were begun since the topic was told last, with group and time."""
        c = jobs.c
        query = select(c.id, c.queue_group, c.started_at).order_by(c.started_at).limit(limit)
        mark = self._mark(topic, STARTED, c.started_at * _MICRO)
        begun = query.where(c.started_at * _MICRO > mark + 0.5, c.id.is_not(None))
        rows = self._database.read(lambda connection: connection.execute(begun).all())
        return [(round(row[2] * _MICRO), *row) for row in rows]

    def told(self, topic: str, source: str, number: int) -> None:
        """Note that the topic was told of that source's events up to this number."""
        c = event_marks.c
        here = (c.topic == topic) & (c.source == source)
        self._database.write(
            lambda connection: connection.execute(
                update(event_marks).where(here).values(told=number)
            )
        )

    def _mark(self, topic: str, source: str, number: ColumnElement[object]) -> int:
        c = event_marks.c
        query = select(c.told).where(c.topic == topic, c.source == source)
        known = self._database.read(lambda connection: connection.scalar(query))
        if known is not None:
            return int(known)
        return self._database.write(partial(_begin, topic=topic, source=source, number=number))


def without_gaps(found: Sequence[tuple[int, float]], mark: int, *, settled: float) -> int:
    """Count how many of these numbers, with their times, follow each other from the mark on.

    PostgreSQL deals numbers before it commits, so a lower one may yet appear; one that is
    missing before what is settled was rolled back.
    """
    last = mark
    for count, (number, at) in enumerate(found):
        if number > last + 1 and at >= settled:
            return count
        last = number
    return len(found)


def _begin(
    connection: Connection, *, topic: str, source: str, number: ColumnElement[object]
) -> int:
    newest = round(connection.scalar(select(func.max(number))) or 0)
    add_new(connection, event_marks, {"topic": topic, "source": source, "told": newest})
    return newest
