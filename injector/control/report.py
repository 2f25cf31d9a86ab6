"""What became of each record of a job, in the source's order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import msgspec

from injector.control.row import Row
from injector.errors import Rejected
from injector.ledger.ports import Job, Jobs, LedgerPort, Receipt, Receipts, Reject
from injector.manifest.record import Record
from injector.pacing.ramp import CHUNK
from injector.staging.chunk import Bad, Chunk

PAGE = 1000
AHEAD = 16
READERS = 8

Names = Callable[[Record], tuple[str, str]]
"""Gives the queue and the id of a record's task; raises Rejected where it has none."""


@dataclass(frozen=True, slots=True)
class Span:
    """Which chunks to report: `every` record of them, or those that were not plainly created."""

    first: int
    past: int
    every: bool = False


def report_lines(
    ledger: LedgerPort, job: Job, span: Span, *, read: Callable[[int], Chunk], name: Names
) -> Iterator[bytes]:
    """Yield the rows as JSON lines, a chunk's at a time; memory does not grow with the job.

    Chunks are read from the store only where some record has a row.
    """
    encode = msgspec.json.Encoder().encode
    rejects = _Rejects(ledger.jobs, job.id, after=span.first * CHUNK - 1)
    ids = _MessageIds(ledger.receipts, job.id)
    for receipt, chunk in _ahead(_receipts(ledger, job, span), read):
        rows = rows_of(
            replace(receipt, message_ids=ids.of(receipt.chunk)),
            chunk,
            rejects,
            name,
            every=span.every,
        )
        yield b"".join(encode(row) + b"\n" for row in rows)


def rows_of(
    receipt: Receipt, chunk: Chunk, rejects: "_Rejects", name: Names, *, every: bool
) -> Iterator[Row]:
    """Yield the rows of a chunk."""
    for position, record in enumerate(chunk.records):
        outcome = _outcome(receipt, position)
        if outcome == "created" and not every:
            continue
        reason = rejects.reason(record.ordinal) if outcome == "rejected" else ""
        task = "" if outcome == "rejected" else _task(record, name)
        message_id = receipt.message_ids[position] if receipt.message_ids else ""
        yield Row(record.ordinal, record.file, record.line, outcome, task, reason, message_id)


def _receipts(ledger: LedgerPort, job: Job, span: Span) -> Iterator[Receipt]:
    """Yield what is known of each chunk that has rows, an empty receipt where nothing is."""
    expected = span.first
    for receipt in ledger.receipts.stream(job.id, first=span.first):
        if receipt.chunk >= span.past:
            break
        yield from (_none(job, chunk) for chunk in range(expected, receipt.chunk))
        if span.every or receipt.created_mask.bit_count() < receipt.records:
            yield receipt
        expected = receipt.chunk + 1
    yield from (_none(job, chunk) for chunk in range(expected, span.past))


def _none(job: Job, chunk: int) -> Receipt:
    return Receipt(job.id, chunk, min(CHUNK, job.records - chunk * CHUNK))


def _ahead(
    receipts: Iterable[Receipt], read: Callable[[int], Chunk]
) -> Iterator[tuple[Receipt, Chunk]]:
    """Read some chunks ahead, since a bucket takes its time for each."""
    waiting: deque[tuple[Receipt, Future[Chunk]]] = deque()
    with ThreadPoolExecutor(READERS) as pool:
        for receipt in receipts:
            waiting.append((receipt, pool.submit(read, receipt.chunk)))
            if len(waiting) > AHEAD:
                first, chunk = waiting.popleft()
                yield first, chunk.result()
        for first, chunk in waiting:
            yield first, chunk.result()


def _outcome(receipt: Receipt, position: int) -> str:
    if receipt.created_mask >> position & 1:
        return "created"
    if receipt.existed_mask >> position & 1:
        return "existed"
    return "rejected" if receipt.rejected_mask >> position & 1 else "open"


def _task(record: Record | Bad, name: Names) -> str:
    if isinstance(record, Bad):
        return ""
    try:
        queue, task = name(record)
    except Rejected:
        return ""
    return task if "/topics/" in queue else f"{queue}/tasks/{task}"


class _MessageIds:
    """The ids of messages, asked for in the order of the chunks, a page at a time."""

    def __init__(self, receipts: Receipts, job_id: str) -> None:
        self._receipts = receipts
        self._job_id = job_id
        self._page: Mapping[int, Sequence[str]] = {}
        self._past = 0

    def of(self, chunk: int) -> tuple[str, ...]:
        """Return the chunk's ids; none for tasks."""
        if chunk >= self._past:
            self._past = chunk + PAGE
            self._page = self._receipts.message_ids(self._job_id, first=chunk, past=self._past)
        return tuple(self._page.get(chunk, ()))


class _Rejects:
    """The reasons of rejects, asked for in the order of the records, a page at a time."""

    def __init__(self, jobs: Jobs, job_id: str, *, after: int) -> None:
        self._rows = _pages(jobs, job_id, after)
        self._row: Reject | None = None

    def reason(self, ordinal: int) -> str:
        """Return the reason of a reject; one that is being sent again may have none."""
        while self._row is None or self._row.ordinal < ordinal:
            self._row = next(self._rows, None)
            if self._row is None:
                return ""
        return self._row.reason if self._row.ordinal == ordinal else ""


def _pages(jobs: Jobs, job_id: str, after: int) -> Iterator[Reject]:
    while page := jobs.rejects(job_id, after=after, limit=PAGE):
        yield from page
        after = page[-1].ordinal
