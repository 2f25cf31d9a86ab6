"""What the fan-outs of each group saw, added up by minute."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import orjson
from sqlalchemy import Connection, bindparam, delete, func, select, update

from injector.ledger.database import Database
from injector.ledger.statements import add_new
from injector.ledger.tables import signals
from injector.ledger.values import Minute

GATHERED_AFTER, GATHERED = 3, 30
"""How many minutes a minute's rows are left alone, and for how many it is tried to join them."""

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
            minutes.setdefault(row.minute, Counter()).update(orjson.loads(row.counts_json))
        return [Minute(minute * 60.0, counts) for minute, counts in minutes.items()]

    def forget(self, *, before: float) -> None:
        """Remove the minutes that ended before then, and join the rows of newer ones."""
        old = delete(signals).where(signals.c.minute < minute_of(before))
        self._database.write(lambda connection: connection.execute(old))
        for group, minute in self._database.read(_scattered):
            self._database.write(partial(_gather, group=group, minute=minute))


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
    total = Counter[str](orjson.loads(kept or connection.scalars(_KEPT, at).one()))
    total.update(counts)
    connection.execute(_UPDATE, at | {"counts_json": _text(total)})


def _scattered(connection: Connection) -> Sequence[tuple[str, int]]:
    """Return the groups and minutes, just over, whose counts are still in several rows."""
    newest = connection.scalar(select(func.max(signals.c.minute))) or 0
    rows = connection.execute(
        select(signals.c.queue_group, signals.c.minute)
        .where(
            signals.c.minute.between(newest - GATHERED_AFTER - GATHERED, newest - GATHERED_AFTER)
        )
        .group_by(signals.c.queue_group, signals.c.minute)
        .having(func.count() > 1)
    )
    return [(row.queue_group, row.minute) for row in rows]


def _gather(connection: Connection, *, group: str, minute: int) -> None:
    """Add the rows up in one; a late count that comes meanwhile waits, or makes a new row."""
    here = (signals.c.queue_group == group) & (signals.c.minute == minute)
    rows = connection.execute(
        select(signals).where(here).order_by(signals.c.shard).with_for_update()
    )
    total, shards = Counter[str](), []
    for row in rows:
        total.update(orjson.loads(row.counts_json))
        shards.append(row.shard)
    connection.execute(delete(signals).where(here, signals.c.shard.in_(shards)))
    add_counts(connection, group, 0, total, now=minute * 60.0)


def _insert(connection: Connection, at: Mapping[str, object], counts: Mapping[str, int]) -> bool:
    """Add the row, unless someone else just did."""
    row = {"queue_group": at["group"], "minute": at["at"], "shard": at["part"]}
    return add_new(connection, signals, row | {"counts_json": _text(counts)})


def _text(counts: Mapping[str, int]) -> str:
    return orjson.dumps(dict(counts)).decode()
