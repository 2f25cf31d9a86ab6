"""What became of each record of a job, in the source's order."""

from collections.abc import Iterator

import msgspec

from injector.ledger.ports import Job, Jobs, LedgerPort, Receipt, Reject
from injector.pacing.ramp import CHUNK

PAGE = 1000


def report_lines(ledger: LedgerPort, job: Job) -> Iterator[bytes]:
    """Yield JSON lines, a chunk's at a time: a record's ordinal and how it ended.

    Outcomes are created, existed, rejected (with line and reason) and open, for a record that
    is not settled yet. Memory does not grow with the job.
    """
    rejects = _rejects(ledger.jobs, job.id)
    expected = 0
    for receipt in ledger.receipts.stream(job.id):
        yield from (_open(job, chunk) for chunk in range(expected, receipt.chunk))
        yield b"".join(_lines(receipt, rejects))
        expected = receipt.chunk + 1
    yield from (_open(job, chunk) for chunk in range(expected, job.chunks))


def _open(job: Job, chunk: int) -> bytes:
    records = min(CHUNK, job.records - chunk * CHUNK)
    return b"".join(_lines(Receipt(job.id, chunk, records), iter(())))


def _lines(receipt: Receipt, rejects: Iterator[Reject]) -> Iterator[bytes]:
    first = receipt.chunk * CHUNK
    for position in range(receipt.records):
        if receipt.created_mask >> position & 1:
            yield b'{"ordinal":%d,"outcome":"created"}\n' % (first + position)
        elif receipt.existed_mask >> position & 1:
            yield b'{"ordinal":%d,"outcome":"existed"}\n' % (first + position)
        elif receipt.rejected_mask >> position & 1:
            yield _rejected(next(rejects))
        else:
            yield b'{"ordinal":%d,"outcome":"open"}\n' % (first + position)


def _rejected(reject: Reject) -> bytes:
    place = {"file": reject.file} if reject.file else {}
    fields = {"ordinal": reject.ordinal, "outcome": "rejected", **place}
    return msgspec.json.encode(fields | {"line": reject.line, "reason": reject.reason}) + b"\n"


def _rejects(jobs: Jobs, job_id: str) -> Iterator[Reject]:
    """Yield the rejects in order, a page at a time."""
    after = -1
    while page := jobs.rejects(job_id, after=after, limit=PAGE):
        yield from page
        after = page[-1].ordinal
