"""Operations on groups: kept so that whoever goes on with one knows where it was."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from sqlalchemy import Connection, Row, Select, and_, or_, select, update

from injector.errors import Conflict, NotFound
from injector.ledger.changes import note
from injector.ledger.database import Database
from injector.ledger.lookup import clean
from injector.ledger.statements import add_new
from injector.ledger.tables import operations
from injector.ledger.values import AuditLine
from injector.operations.values import Act, Operation, State


class OperationTable:
    """The operations of all groups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, operation: Operation, *, lines: Sequence[AuditLine] = ()) -> Operation:
        """Keep a new operation; raise Conflict that names the live one that is in its way."""
        self._database.write(lambda connection: _begin(connection, operation, lines))
        return operation

    def get(self, operation_id: str) -> Operation:
        """Return the operation."""
        query = select(operations).where(operations.c.id == operation_id)
        row = self._database.read(lambda connection: connection.execute(query).one_or_none())
        if row is None:
            raise NotFound(f"there is no operation {operation_id!r}")
        return _operation(row)

    def list(
        self, *, group: str = "", limit: int = 100, may_act: bool = False
    ) -> Sequence[Operation]:
        """Return operations of one group or of all, newest first.

        With `may_act` only the live ones, and those whose end is not done yet.
        """
        query = select(operations).order_by(operations.c.key.desc()).limit(limit)
        if group:
            query = query.where(operations.c.queue_group == group)
        if may_act:
            query = query.where(operations.c.live.is_not(None))
        return self._select(query)

    def open(self, group: str) -> Sequence[Operation]:
        """Return the group's operations that have something left to do, oldest first.

        One that is paused does nothing, whatever is left.
        """
        todo = or_(
            operations.c.state == State.RUNNING.value,
            and_(
                operations.c.state != State.PAUSED.value,
                operations.c.acts_done < operations.c.acts_count,
            ),
        )
        query = (
            select(operations)
            .where(operations.c.queue_group == group, todo)
            .order_by(operations.c.key)
        )
        return self._select(query)

    def save(
        self, operation: Operation, *, expected_version: int, lines: Sequence[AuditLine] = ()
    ) -> bool:
        """Save it with its audit lines, or nothing when the saved version is another."""
        return self._database.write(
            lambda connection: _save(connection, operation, expected_version, lines)
        )

    def acted(self, operation: Operation, *, done: int) -> bool:
        """Note how many acts are done; False, having done nothing, at another version."""
        c = operations.c
        query = (
            update(operations)
            .where(c.id == operation.id, c.version == operation.version)
            .values(acts_done=done, live=_live(replace(operation, acts_done=done)))
        )
        return self._database.write(lambda connection: connection.execute(query).rowcount == 1)

    def _select(self, query: Select[tuple[object, ...]]) -> Sequence[Operation]:
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [_operation(row) for row in rows]


def _begin(connection: Connection, operation: Operation, lines: Sequence[AuditLine]) -> None:
    if not add_new(connection, operations, _row(operation)):
        raise Conflict(_in_the_way(connection, operation))
    for line in lines:
        note(connection, line)


def _in_the_way(connection: Connection, operation: Operation) -> str:
    """Say which operation keeps a new one from beginning."""
    c = operations.c
    query = select(c.id, c.kind, c.state).where(c.live == _live(operation))
    found = connection.execute(query).first()
    if found is None:
        return f"there is an operation {operation.id!r} already"
    return (
        f"group {operation.group} has a {found.kind} that is {found.state}, {found.id}; wait for "
        f"its end, or end it by: injector group operations cancel {found.id}"
    )


def _save(
    connection: Connection, operation: Operation, expected: int, lines: Sequence[AuditLine]
) -> bool:
    c = operations.c
    swap = update(operations).where(c.id == operation.id, c.version == expected)
    row = {name: value for name, value in _row(operation).items() if name != "id"}
    if connection.execute(swap, row).rowcount != 1:
        return False
    for line in lines:
        note(connection, line)
    return True


def _live(operation: Operation) -> str | None:
    """Return what is unique among operations that may change something.

    NULL for one that has ended and has done what its end takes.
    """
    may_act = operation.is_live or operation.acts_left
    return f"{operation.group}/{operation.slot}" if may_act else None


def _row(operation: Operation) -> dict[str, object]:
    acts = [asdict(act) for act in operation.acts]
    return {
        "id": operation.id,
        "kind": operation.kind,
        "queue_group": operation.group,
        "slot": operation.slot,
        "live": _live(operation),
        "who": clean(operation.who),
        "state": operation.state.value,
        "step": operation.step,
        "steps": operation.steps,
        "reason": clean(operation.reason),
        "spec_json": json.dumps(operation.spec),
        "memory_json": json.dumps(operation.memory),
        "acts_json": json.dumps(acts),
        "acts_count": len(acts),
        "acts_done": operation.acts_done,
        "started_at": operation.started_at,
        "next_at": operation.next_at,
        "ends_at": operation.ends_at,
        "ended_at": operation.ended_at,
        "version": operation.version,
    }


def _operation(row: Row[tuple[object, ...]]) -> Operation:
    return Operation(
        id=row.id,
        kind=row.kind,
        group=row.queue_group,
        spec=json.loads(row.spec_json),
        slot=row.slot,
        who=row.who,
        state=State(row.state),
        step=row.step,
        steps=row.steps,
        reason=row.reason,
        memory=json.loads(row.memory_json),
        acts=tuple(Act(**act) for act in json.loads(row.acts_json)),
        acts_done=row.acts_done,
        started_at=row.started_at,
        next_at=row.next_at,
        ends_at=row.ends_at,
        ended_at=row.ended_at,
        version=row.version,
    )
