"""Chunks whose open records wait for a queue that takes nothing.

A chunk is the business of its feeding, of the queue it waits for, or of nobody once it is
settled: what waits is passed over where feedings are looked over, and goes back to one, long
overdue, when it is released. Every chunk that waits has a receipt, be it one of nothing, so that
none is settled without the row of its wait being seen. One released before its first feeding was
looked over is in two; it is fed twice then, as after a redrive, and settles once.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from injector.ledger.lookup import find
from injector.ledger.shards import shard_of
from injector.ledger.statements import add_new, add_up
from injector.ledger.tables import counters, feeds, waits
from injector.ledger.values import Receipt, Wait


class Fed(NamedTuple):
    """A chunk that waits, and the generation that it was fed as."""

    chunk: int
    generation: int


_AT = (waits.c.job == bindparam("key")) & (waits.c.chunk == bindparam("at"))
_NEXT_QUEUE = select(func.min(waits.c.queue)).where(
    waits.c.job == bindparam("key"), waits.c.queue > bindparam("after")
)
_FIRST = (
    select(waits.c.chunk, waits.c.generation)
    .where(waits.c.job == bindparam("key"), waits.c.queue == bindparam("of"))
    .order_by(waits.c.generation, waits.c.chunk)
    .limit(bindparam("most"))
    .with_for_update()
)
_RUN = delete(waits).where(
    waits.c.job == bindparam("key"),
    waits.c.chunk >= bindparam("first"),
    waits.c.chunk < bindparam("past"),
)


def note(connection: Connection, key: int, whole: Receipt, wait: Wait | None) -> int:
    """Note what the chunk waits for, or that it does no more; return how many more wait."""
    here = {"key": key, "at": whole.chunk}
    if whole.settled:
        return -connection.execute(delete(waits).where(_AT), here).rowcount
    if wait is None:
        return 0
    row = {"queue": wait.queue, "generation": wait.generation}
    if add_new(connection, waits, {"job": key, "chunk": whole.chunk} | row):
        return 1
    connection.execute(update(waits).where(_AT).values(row), here)
    return 0


def queues(connection: Connection, job_id: str) -> list[str]:
    """Return the queues that chunks of the job wait for, at a cost that their number makes."""
    key, found = find(connection, job_id).key, [""]
    while queue := connection.scalar(_NEXT_QUEUE, {"key": key, "after": found[-1]}):
        found.append(queue)
    return found[1:]


def release(connection: Connection, job_id: str, queue: str, *, limit: int, now: float) -> int:
    """Hand chunks that wait for the queue, the least often fed first, to overdue feedings."""
    key = find(connection, job_id).key
    rows = connection.execute(_FIRST, {"key": key, "of": queue, "most": limit}).all()
    found = [Fed(*row) for row in rows]
    for run in _runs(found):
        place = {"first": run[0].chunk, "past": run[-1].chunk + 1}
        connection.execute(_RUN, {"key": key} | place)
        times = {"scheduled_until": 0.0, "fed_at": now}
        feeding = {"job": key, "generation": run[0].generation} | place | times
        connection.execute(insert(feeds), feeding)
    for shard, theirs in groupby(sorted(shard_of(each.chunk) for each in found)):
        counts = dict.fromkeys(("chunks", "created", "existed", "rejected"), 0)
        less = {"job": key, "shard": shard, "waiting": -len(list(theirs))}
        add_up(connection, counters, counts | less)
    return len(found)


def _runs(found: Sequence[Fed]) -> Iterator[list[Fed]]:
    """Part them where a chunk does not follow the one before, or is of another generation."""
    numbered = enumerate(found)
    for _, run in groupby(numbered, key=lambda each: (each[1].generation, each[1].chunk - each[0])):
        yield [fed for _, fed in run]
