"""The receipts: what became of each chunk, and the totals that follow from it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from sqlalchemy import Connection, bindparam, insert, select, update

from injector.delivery.ports import Outcome
from injector.errors import Rejected
from injector.ledger import by_driver, one_trip, waits
from injector.ledger.database import Database
from injector.ledger.gaps import gaps
from injector.ledger.joining import empty, join, pack, unpack
from injector.ledger.lookup import COLUMNS, Found, clean, find, job_of, storable, unknown
from injector.ledger.message_ids import add_ids, ids_of
from injector.ledger.shards import shard_of
from injector.ledger.signals import add_counts
from injector.ledger.statements import add_new, add_up
from injector.ledger.tables import counters, jobs, receipts, rejects
from injector.ledger.values import Job, Receipt, Reject, Selection, Wait

PAGE = 1000
"""How many receipts are read at once."""

MOST_CHUNKS = 2**31 - 1
"""What the column of chunks can hold."""

WINDOW = 100_000
"""How many chunks are looked over at once for those not settled."""

_AT = (receipts.c.job == bindparam("key")) & (receipts.c.chunk == bindparam("at"))
_LOCKED = select(receipts.c.records, receipts.c.masks).where(_AT).with_for_update()
_CHUNK_OF_JOB = jobs.outerjoin(
    receipts, (receipts.c.job == jobs.c.key) & (receipts.c.chunk == bindparam("at"))
)
_LOAD = (
    select(receipts.c.records, receipts.c.masks)
    .select_from(_CHUNK_OF_JOB)
    .where(jobs.c.id == bindparam("id"))
)
_BEGIN = (
    select(*COLUMNS, receipts.c.records.label("kept"), receipts.c.masks)
    .select_from(_CHUNK_OF_JOB)
    .where(jobs.c.id == bindparam("id"))
)
_UPDATE = update(receipts).where(_AT)
_ROWS = (
    select(receipts.c.chunk, receipts.c.records, receipts.c.masks)
    .where(receipts.c.job == bindparam("key"), receipts.c.chunk >= bindparam("first"))
    .order_by(receipts.c.chunk)
    .limit(PAGE)
)
_ROWS_NOT_PLAIN = _ROWS.where(receipts.c.masks.is_not(None))


class ReceiptTable:
    """The receipts of all jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, job_id: str, chunk: int) -> Receipt | None:
        """Return the masks of a chunk, or None when nothing of it is settled."""
        return self._database.read(partial(_load, job_id=job_id, chunk=chunk))

    def begin(self, job_id: str, chunk: int) -> tuple[Job, Receipt | None]:
        """Return the job and the masks of a chunk, by one question."""
        if not storable(job_id):
            raise unknown(job_id)
        here = {"id": job_id, "at": min(chunk, MOST_CHUNKS)}
        if self._database.postgresql:
            row = self._database.read(lambda c: c.execute(_BEGIN, here).one_or_none())
        else:
            asked = by_driver.text_of(_BEGIN)
            row = self._database.drive(lambda c: c.execute(asked, here).fetchone())
        if row is None:
            raise unknown(job_id)
        *job, records, masks = row
        return job_of(job), _unpacked(job_id, chunk, records, masks)

    def merge(
        self,
        receipt: Receipt,
        *,
        now: float,
        counts: Mapping[str, int] | None = None,
        wait: Wait | None = None,
    ) -> Receipt:
        """Add what was settled to what is kept; the rejects returned are the new ones."""
        first = join(empty(receipt), receipt)
        short = wait is None and storable(receipt.job)
        if short and self._keep_first(first, counts or {}, now=now):
            return first
        return self._database.write(
            lambda connection: _merge(connection, first, counts or {}, wait, now=now)
        )

    def _keep_first(self, receipt: Receipt, counts: Mapping[str, int], *, now: float) -> bool:
        """Keep a chunk's first receipt the short way, if that can be gone."""
        if self._database.postgresql:
            trip = partial(one_trip.keep_first, receipt=receipt, counts=counts, now=now)
            return self._database.read(trip)
        steps = partial(by_driver.keep_first, receipt=receipt, counts=counts, now=now)
        return self._database.drive(steps)

    def stream(self, job_id: str, *, first: int = 0) -> Iterator[Receipt]:
        """Yield the receipts in chunk order, a page at a time."""
        yield from self._pages(job_id, first, plain=True)

    def message_ids(self, job_id: str, *, first: int, past: int) -> Mapping[int, Sequence[str]]:
        """Return the message ids of those of the chunks first … past - 1 that have any."""
        return self._database.read(partial(ids_of, job_id=job_id, first=first, past=past))

    def select(self, job_id: str, outcome: Outcome) -> Iterator[Selection]:
        """Yield the records that ended so, in chunk order."""
        if outcome is Outcome.NOT_TAKEN:
            yield from self._missing(job_id)
            return
        for receipt in self._pages(job_id, 0, plain=outcome is Outcome.CREATED):
            mask = _mask(receipt, outcome)
            if mask:
                yield Selection(receipt.chunk, mask)

    def _pages(self, job_id: str, first: int, *, plain: bool) -> Iterator[Receipt]:
        key = self._database.read(lambda connection: find(connection, job_id)).key
        page = self._page(key, job_id, first, plain=plain)
        while page:
            yield from (receipt for receipt in page if receipt.settled_mask)
            page = self._page(key, job_id, page[-1].chunk + 1, plain=plain)

    def _page(self, key: int, job_id: str, first: int, *, plain: bool) -> Sequence[Receipt]:
        statement = _ROWS if plain else _ROWS_NOT_PLAIN
        rows = self._database.read(
            lambda connection: connection.execute(statement, {"key": key, "first": first}).all()
        )
        return [unpack(job_id, row.chunk, row.records, row.masks) for row in rows]

    def _missing(self, job_id: str) -> Iterator[Selection]:
        job = self._database.read(lambda connection: find(connection, job_id))
        at = 0
        while at < job.chunks:
            page, at = self._database.read(partial(_missing, job=job, job_id=job_id, at=at))
            yield from page


def _load(connection: Connection, *, job_id: str, chunk: int) -> Receipt | None:
    here = {"id": job_id, "at": chunk}
    row = connection.execute(_LOAD, here).one_or_none() if storable(job_id) else None
    if row is None:
        raise unknown(job_id)
    return _unpacked(job_id, chunk, row.records, row.masks)


def _unpacked(job_id: str, chunk: int, records: int | None, masks: bytes | None) -> Receipt | None:
    """Read a receipt; one that only marks a chunk that waits is none."""
    found = None if records is None else unpack(job_id, chunk, records, masks)
    return found if found and found.settled_mask else None


def _merge(
    connection: Connection,
    receipt: Receipt,
    counts: Mapping[str, int],
    wait: Wait | None,
    *,
    now: float,
) -> Receipt:
    job = find(connection, receipt.job)
    _check_place(receipt, job)
    if wait is not None:
        _insert(connection, job.key, empty(receipt))
    kept, whole, is_new = _keep(connection, job.key, receipt)
    if counts:
        add_counts(connection, job.group, shard_of(receipt.chunk), counts, now=now)
    waiting = 0 if is_new else waits.note(connection, job.key, whole, wait)
    if whole != kept:
        _list_rejects(connection, job.key, whole)
        add_ids(connection, job.key, whole)
    if whole != kept or waiting:
        _add_to_totals(connection, job.key, kept, whole, waiting)
    return whole


def _check_place(receipt: Receipt, job: Found) -> None:
    if not 0 <= receipt.chunk < job.chunks:
        raise Rejected(f"job {receipt.job} has {job.chunks} chunks, not one of {receipt.chunk}")


def _keep(connection: Connection, key: int, receipt: Receipt) -> tuple[Receipt, Receipt, bool]:
    """Join it to what is kept; return that as it was and as it is, and whether it is new."""
    before = empty(receipt)
    if receipt.settled_mask and _insert(connection, key, receipt):
        return before, receipt, True
    kept = _locked(connection, key, receipt) or before
    whole = join(kept, receipt)
    if whole != kept:
        connection.execute(_UPDATE, {"key": key, "at": whole.chunk} | _values(whole))
    return kept, whole, False


def _insert(connection: Connection, key: int, whole: Receipt) -> bool:
    row = {"job": key, "chunk": whole.chunk, "records": whole.records}
    return add_new(connection, receipts, row | _values(whole))


def _locked(connection: Connection, key: int, receipt: Receipt) -> Receipt | None:
    row = connection.execute(_LOCKED, {"key": key, "at": receipt.chunk}).one_or_none()
    return row and unpack(receipt.job, receipt.chunk, row.records, row.masks)


def _values(whole: Receipt) -> dict[str, object]:
    return {"settled": whole.settled, "masks": pack(whole)}


def _add_to_totals(
    connection: Connection, key: int, kept: Receipt, whole: Receipt, waiting: int
) -> None:
    """Add the difference, so that what was counted before is not counted again."""
    row = {
        "job": key,
        "shard": shard_of(whole.chunk),
        "chunks": whole.settled - kept.settled,
        "created": whole.created_mask.bit_count() - kept.created_mask.bit_count(),
        "existed": whole.existed_mask.bit_count() - kept.existed_mask.bit_count(),
        "rejected": whole.rejected_mask.bit_count() - kept.rejected_mask.bit_count(),
        "waiting": waiting,
    }
    add_up(connection, counters, row)


def _list_rejects(connection: Connection, key: int, whole: Receipt) -> None:
    if whole.rejects:
        rows = [_reject_row(key, reject) for reject in whole.rejects]
        connection.execute(insert(rejects), rows)


def _reject_row(key: int, reject: Reject) -> dict[str, object]:
    return {
        "job": key,
        "ordinal": reject.ordinal,
        "line": reject.line,
        "position": reject.position,
        "reason": clean(reject.reason),
        "file": clean(reject.file),
    }


def _missing(
    connection: Connection, *, job: Found, job_id: str, at: int
) -> tuple[list[Selection], int]:
    """Return the records without an outcome in the next page of chunks, and where it ends."""
    past = min(at + WINDOW, job.chunks)
    found = gaps(connection, job.key, at, past, limit=PAGE, waiting=True)
    if not found:
        return [], past
    first, past = found[0]
    rows = connection.execute(_ROWS, {"key": job.key, "first": first})
    begun = {r.chunk: unpack(job_id, r.chunk, r.records, r.masks).open_mask for r in rows}
    return [Selection(chunk, begun.get(chunk, -1)) for chunk in range(first, past)], past


def _mask(receipt: Receipt, outcome: Outcome) -> int:
    if outcome is Outcome.CREATED:
        return receipt.created_mask
    return receipt.existed_mask if outcome is Outcome.EXISTED else receipt.rejected_mask
