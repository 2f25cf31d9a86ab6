"""The ramps of the groups, and the decisions that led to them."""

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import Connection, insert, select, update

from injector.ledger.database import Database
from injector.ledger.lookup import clean
from injector.ledger.statements import add_new
from injector.ledger.tables import decisions, groups
from injector.ledger.values import GroupState, RampDecision


class GroupTable:
    """The ramps of all groups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def state(self, group: str) -> GroupState:
        """Return what was saved last, version 0 when nothing was."""
        query = select(groups).where(groups.c.name == group)
        row = self._database.read(lambda connection: connection.execute(query).one_or_none())
        if row is None:
            return GroupState(group)
        return GroupState(group, row.ramp_json, row.version, row.saved_at)

    def save(
        self, state: GroupState, *, expected_version: int, decision: RampDecision | None = None
    ) -> bool:
        """Save the ramp and its decision together, or nothing when the version is another."""
        return self._database.write(
            lambda connection: _save(connection, state, expected_version, decision)
        )

    def decisions(self, group: str, *, limit: int = 100) -> Sequence[RampDecision]:
        """Return the newest decisions first."""
        c = decisions.c
        query = (
            select(c.at, c.action, c.rate, c.concurrency, c.reason, c.evidence_json)
            .where(c.queue_group == group)
            .order_by(c.id.desc())
            .limit(limit)
        )
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [RampDecision(*row) for row in rows]


def _save(
    connection: Connection, state: GroupState, expected: int, decision: RampDecision | None
) -> bool:
    if not _swap(connection, state, expected):
        return False
    if decision is not None:
        row = asdict(decision) | {"queue_group": state.group, "reason": clean(decision.reason)}
        connection.execute(insert(decisions), row)
    return True


def _swap(connection: Connection, state: GroupState, expected: int) -> bool:
    """Compare and set: an update, or the first insert, that only one of several can make."""
    row = {"version": expected + 1, "ramp_json": state.ramp_json, "saved_at": state.saved_at}
    if expected == 0:
        return add_new(connection, groups, row | {"name": state.group})
    swap = update(groups).where(groups.c.name == state.group, groups.c.version == expected)
    return connection.execute(swap, row).rowcount == 1
