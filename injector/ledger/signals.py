"""What the fan-outs of each group saw, added up by minute."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, bindparam, delete, select, update

from injector.ledger.database import Database
from injector.ledger.statements import add_new
from injector.ledger.tables import signals
from injector.ledger.values import Minute

_AT = (
    (signals.c.queue_group == bindparam("group"))
    & (signals.c.minute == bindparam("at"))
    & (signals.c.shard == bindparam("part"))
)
_KEPT = select(signals.c.counts_json).where(_AT).with_for_update()
_UPDATE = update(signals).where(_AT)
_SINCE = (
    select(signals.c.minute, signals.c.counts_json)
    .where(signals.c.queue_group == bindparam("group"), signals.c.minute >= bindparam("first"))
    .order_by(signals.c.minute)
)


class SignalTable:
    """The signals of all groups."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, group: str, counts: Mapping[str, int], *, now: float) -> None:
        """Add to the counts of the minute of `now`."""
        self._database.write(lambda connection: add_counts(connection, group, 0, counts, now=now))

    def since(self, group: str, t: float) -> Sequence[Minute]:
        """Return the minutes from the one of `t` on, oldest first; empty ones are left out."""
        place = {"group": group, "first": minute_of(t)}
        rows = self._database.read(lambda connection: connection.execute(_SINCE, place).all())
        minutes: dict[int, Counter[str]] = {}
        for row in rows:
            minutes.setdefault(row.minute, Counter()).update(json.loads(row.counts_json))
        return [Minute(minute * 60.0, counts) for minute, counts in minutes.items()]

    def forget(self, *, before: float) -> None:
        """Remove the minutes of all groups that ended before then."""
        old = delete(signals).where(signals.c.minute < minute_of(before))
        self._database.write(lambda connection: connection.execute(old))


def minute_of(t: float) -> int:
    """Return the number of the minute since the Unix epoch."""
    return int(t // 60)


def add_counts(
    connection: Connection, group: str, shard: int, counts: Mapping[str, int], *, now: float
) -> None:
    """Add to one of the rows that a minute's counts are spread over."""
    at = {"group": group, "at": minute_of(now), "part": shard}
    kept = connection.scalar(_KEPT, at)
    if kept is None and _insert(connection, at, counts):
        return
    total = Counter[str](json.loads(kept or connection.scalars(_KEPT, at).one()))
    total.update(counts)
    connection.execute(_UPDATE, at | {"counts_json": _text(total)})


def _insert(connection: Connection, at: Mapping[str, object], counts: Mapping[str, int]) -> bool:
    """Add the row, unless someone else just did."""
    row = {"queue_group": at["group"], "minute": at["at"], "shard": at["part"]}
    return add_new(connection, signals, row | {"counts_json": _text(counts)})


def _text(counts: Mapping[str, int]) -> str:
    return json.dumps(counts, separators=(",", ":"))
