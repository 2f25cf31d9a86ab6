"""Opening what was closed: rejects that are to be sent again, and chunks to be fed at once.

A page of chunks at a time is opened, in one transaction with all that counts them. One that is
cut off has opened its first pages, and the rest when it is asked again.
"""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from injector.errors import Conflict
from injector.ledger.changes import Act, change, note, to_change
from injector.ledger.joining import pack, unpack
from injector.ledger.lookup import find
from injector.ledger.notices import set_notice
from injector.ledger.shards import shard_of
from injector.ledger.statements import add_up
from injector.ledger.tables import counters, feeds, receipts, rejects
from injector.ledger.values import Job, JobState, Receipt
from injector.pacing.ramp import CHUNK

PAGE = 500
"""How many receipts one transaction opens."""

GENERATIONS = 1000
"""How many generations a redrive has for itself, so that its names are new ones."""

_NOT_PLAIN = (
    select(receipts.c.chunk, receipts.c.records, receipts.c.masks)
    .where(
        receipts.c.job == bindparam("key"),
        receipts.c.chunk >= bindparam("first"),
        receipts.c.masks.is_not(None),
    )
    .order_by(receipts.c.chunk)
    .limit(PAGE)
    .with_for_update()
)


def begin(connection: Connection, *, job_id: str, act: Act) -> Job:
    """Let the job run again, whatever it is but cancelled, and count the redrive."""
    job = to_change(connection, job_id, act)
    if job.state is JobState.CANCELLED:
        raise Conflict(
            f"job {job_id!r} is cancelled, which is for good; "
            "send its records as a job of their own"
        )
    redrives = job.redrives + 1
    values = {"state": JobState.RUNNING.value, "reason": "", "finished_at": None}
    change(connection, job, values | {"redrives": redrives})
    set_notice(connection, job_id, None)
    if job.state is not JobState.RUNNING:
        note(connection, act.line(job_id, "state", job.state, JobState.RUNNING))
    note(connection, act.line(job_id, "redrive", "rejected", f"redrive {redrives}"))
    return replace(job, redrives=redrives)


def open_rejected(connection: Connection, *, job: Job, first: int, now: float) -> tuple[int, int]:
    """Open the rejects of the next page of chunks; return how many, and where the next begins."""
    key = find(connection, job.id).key
    rows = connection.execute(_NOT_PLAIN, {"key": key, "first": first}).all()
    found = [unpack(job.id, row.chunk, row.records, row.masks) for row in rows]
    rejected = [receipt for receipt in found if receipt.rejected_mask]
    for receipt in rejected:
        _open(connection, key, receipt)
    _feed_again(connection, key, [each.chunk for each in rejected], job.redrives, now=now)
    opened = sum(receipt.rejected_mask.bit_count() for receipt in rejected)
    return opened, found[-1].chunk + 1 if len(found) == PAGE else job.chunks


def hasten(connection: Connection, *, job_id: str) -> None:
    """Make all that was fed and not settled overdue, so that the next tick feeds it again."""
    key = find(connection, job_id).key
    connection.execute(update(feeds).where(feeds.c.job == key), {"scheduled_until": 0.0})


def _open(connection: Connection, key: int, receipt: Receipt) -> None:
    opened = replace(receipt, rejected_mask=0)
    here = (receipts.c.job == key) & (receipts.c.chunk == receipt.chunk)
    values = {"settled": opened.settled, "masks": pack(opened)}
    connection.execute(update(receipts).where(here), values)
    start = receipt.chunk * CHUNK
    theirs = rejects.c.ordinal.between(start, start + CHUNK - 1)
    connection.execute(delete(rejects).where(rejects.c.job == key, theirs))
    row = {
        "job": key,
        "shard": shard_of(receipt.chunk),
        "chunks": opened.settled - receipt.settled,
        "created": 0,
        "existed": 0,
        "rejected": -receipt.rejected_mask.bit_count(),
        "waiting": 0,
    }
    add_up(connection, counters, row)


def _feed_again(
    connection: Connection, key: int, chunks: Sequence[int], redrives: int, *, now: float
) -> None:
    """Note feedings long overdue, one for each run of chunks."""
    rows = [
        {
            "job": key,
            "generation": redrives * GENERATIONS,
            "first": first,
            "past": past,
            "scheduled_until": 0.0,
            "fed_at": now,
        }
        for first, past in _runs(chunks)
    ]
    if rows:
        connection.execute(insert(feeds), rows)


def _runs(chunks: Sequence[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for chunk in chunks:
        if runs and runs[-1][1] == chunk:
            runs[-1] = runs[-1][0], chunk + 1
        else:
            runs.append((chunk, chunk + 1))
    return runs
