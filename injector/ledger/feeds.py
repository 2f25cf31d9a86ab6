"""Which chunks were fed when, until they are known to be settled.

A feeding is one row, a range of chunks. It shrinks from its front as `overdue` finds its chunks
settled or they are fed again, and is removed when nothing is left; so there are as many rows as
a job has feedings under way, and no chunk once fed is ever out of sight before it is settled.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from injector.ledger.gaps import gaps
from injector.ledger.lookup import find
from injector.ledger.tables import feeds, jobs
from injector.ledger.values import Chunks, Job

SCAN = 250_000
"""How many chunks one call looks over: four minutes of the API's quota of creates."""

_FIRST_DUE = (
    select(feeds.c.id, feeds.c.generation, feeds.c.first, feeds.c.past)
    .where(feeds.c.job == bindparam("key"))
    .order_by(feeds.c.scheduled_until)
    .limit(1000)
)
_IS_DUE = feeds.c.scheduled_until < bindparam("before")
_IS_RECALLED = feeds.c.generation < bindparam("least")
_DUE = _FIRST_DUE.where(_IS_DUE)
_DUE_OR_RECALLED = _FIRST_DUE.where(_IS_DUE | _IS_RECALLED)
_HIGHEST = select(func.max(feeds.c.generation)).where(feeds.c.job == bindparam("key"))
_SHRINK = (
    update(feeds)
    .where(feeds.c.id == bindparam("feed"), feeds.c.first == bindparam("was"))
    .values(first=bindparam("front"))
)


@dataclass(frozen=True, slots=True)
class Survey:
    """What looking over the feedings gave: lost chunks, and how far each is settled."""

    lost: list[Chunks]
    fronts: list[dict[str, int]]


def advance(
    connection: Connection, job_id: str, chunks: Chunks, *, scheduled_until: float, now: float
) -> bool:
    """Move the cursor from `chunks.first` to `chunks.past`, and note the feeding."""
    key = find(connection, job_id).key
    move = update(jobs).where(
        jobs.c.key == key, jobs.c.cursor == chunks.first, jobs.c.chunks >= chunks.past
    )
    moved = {"cursor": chunks.past, "started_at": func.coalesce(jobs.c.started_at, now)}
    if connection.execute(move.values(moved)).rowcount == 0:
        return False
    _note(connection, key, chunks, scheduled_until=scheduled_until, now=now)
    return True


def survey(connection: Connection, job_id: str, *, before: float, limit: int) -> Survey:
    """Look over the feedings scheduled before then, or recalled, for at most `limit` chunks."""
    job = find(connection, job_id)
    key, least = job.key, job.generation
    found, scan = Survey([], []), SCAN
    due = _DUE_OR_RECALLED if least else _DUE
    place = {"key": key, "before": before} | ({"least": least} if least else {})
    for feed in connection.execute(due, place).all():
        past = min(feed.past, feed.first + scan)
        missing = gaps(connection, key, feed.first, past, limit=limit, waiting=False)
        front = missing[0][0] if missing else past
        if front > feed.first:
            found.fronts.append({"feed": feed.id, "was": feed.first, "front": front})
        again = max(feed.generation + 1, least)
        lost = [Chunks(first, end, again, feed.id) for first, end in missing]
        found.lost.extend(lost)
        limit -= sum(chunks.past - chunks.first for chunks in lost)
        scan -= past - feed.first
        if limit <= 0 or scan <= 0:
            break
    return found


def recall(connection: Connection, job: Job, generation: int) -> None:
    """Have all that was fed under generations up to this one fed again, under a new one.

    The new one leaves out the next, which a feed that is under way may be using.
    """
    if job.generation > generation:
        return
    key = find(connection, job.id).key
    highest = max(job.generation, connection.scalar(_HIGHEST, {"key": key}) or 0)
    connection.execute(update(jobs).where(jobs.c.key == key).values(generation=highest + 2))


def shrink(connection: Connection, fronts: Sequence[Mapping[str, int]]) -> None:
    """Take from the front of each feeding what is settled; one that someone else moved stays."""
    connection.execute(_SHRINK, fronts)
    emptied = [each["feed"] for each in fronts]
    connection.execute(delete(feeds).where(feeds.c.id.in_(emptied), feeds.c.first >= feeds.c.past))


def refeed(
    connection: Connection,
    job_id: str,
    chunks: Sequence[Chunks],
    *,
    scheduled_until: float,
    now: float,
) -> int:
    """Hand the chunks, and all before them in their feeding, on to a new feeding."""
    key = find(connection, job_id).key
    noted = 0
    for _, ranges in groupby(sorted(chunks, key=_feeding), key=_feeding):
        lost, taken = _take(connection, key, list(ranges))
        if lost is not None:
            _note(connection, key, lost, scheduled_until=scheduled_until, now=now)
        noted += taken
    return noted


def _feeding(chunks: Chunks) -> tuple[int, int]:
    return chunks.feed, chunks.generation


def _take(connection: Connection, key: int, ranges: Sequence[Chunks]) -> tuple[Chunks | None, int]:
    """Cut from the front of a feeding all up to the last range; None when another call did.

    What lies between the ranges is settled or was passed over by the caller; either way it is
    under the new feeding, and comes up again when it is overdue there.
    """
    feed, generation = _feeding(ranges[0])
    here = (feeds.c.id == feed) & (feeds.c.job == key) & (feeds.c.generation < generation)
    query = select(feeds.c.first, feeds.c.past).where(here).with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None:
        return None, 0
    ours = [each for each in ranges if row.first <= each.first and each.past <= row.past]
    if not ours:
        return None, 0
    past = max(each.past for each in ours)
    shrink(connection, [{"feed": feed, "was": row.first, "front": past}])
    return Chunks(row.first, past, generation), sum(each.past - each.first for each in ours)


def _note(
    connection: Connection, key: int, chunks: Chunks, *, scheduled_until: float, now: float
) -> None:
    row = {
        "job": key,
        "generation": chunks.generation,
        "first": chunks.first,
        "past": chunks.past,
        "scheduled_until": scheduled_until,
        "fed_at": now,
    }
    connection.execute(insert(feeds), row)
