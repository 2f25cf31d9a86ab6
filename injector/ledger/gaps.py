"""Which chunks of a range are not settled, found without looking at each of those that are.

A chunk that waits for a queue is not settled, yet not lost: it counts as whoever asks wants it.
No chunk is both settled and waiting.
"""

from collections.abc import Iterable, Iterator
from heapq import merge

from sqlalchemy import Connection, bindparam, select, text

from injector.ledger.tables import receipts, waits

BLOCK = 250
"""How many chunks are counted together: a count costs a tenth of reading the numbers counted."""

_INCOMPLETE_BLOCKS = text("""
WITH RECURSIVE blocks(first, past) AS (
  SELECT CAST(:first AS int), CASE WHEN :first + :block < :past THEN :first + :block ELSE :past END
  UNION ALL
  SELECT past, CASE WHEN past + :block < :past THEN past + :block ELSE :past END
  FROM blocks WHERE past < :past
)
SELECT first, past FROM blocks WHERE past - first > (
  SELECT count(*) FROM receipts
  WHERE job = :key AND chunk >= first AND chunk < past AND settled
) + (
  SELECT count(*) FROM waits
  WHERE job = :key AND chunk >= first AND chunk < past AND :waiting = 0
) ORDER BY first
""")
_SETTLED = (
    select(receipts.c.chunk)
    .where(
        receipts.c.job == bindparam("key"),
        receipts.c.chunk >= bindparam("first"),
        receipts.c.chunk < bindparam("past"),
        receipts.c.settled,
    )
    .order_by(receipts.c.chunk)
)
_WAITING = (
    select(waits.c.chunk)
    .where(
        waits.c.job == bindparam("key"),
        waits.c.chunk >= bindparam("first"),
        waits.c.chunk < bindparam("past"),
    )
    .order_by(waits.c.chunk)
)


def gaps(  # noqa: PLR0913
    connection: Connection, key: int, first: int, past: int, *, limit: int, waiting: bool
) -> list[tuple[int, int]]:
    """Return ranges of chunks in first … past - 1 that are not settled: `limit` chunks or all.

    Chunks that wait are among them only if `waiting`.
    """
    found: list[tuple[int, int]] = []
    for start, end in _incomplete(connection, key, first, past, waiting=waiting):
        place = {"key": key, "first": start, "past": end}
        done = connection.scalars(_SETTLED, place).all()
        if not waiting:
            done = list(merge(done, connection.scalars(_WAITING, place)))
        for gap in _between(done, start, end):
            if limit <= 0:
                return found
            found.append((gap[0], min(gap[1], gap[0] + limit)))
            limit -= gap[1] - gap[0]
    return found


def _incomplete(
    connection: Connection, key: int, first: int, past: int, *, waiting: bool
) -> Iterator[tuple[int, int]]:
    """Yield the runs of blocks in which some chunk is not settled."""
    place = {"key": key, "first": first, "past": past, "block": BLOCK, "waiting": int(waiting)}
    start = end = first
    for block in connection.execute(_INCOMPLETE_BLOCKS, place).all():
        if block.first > end:
            if end > start:
                yield start, end
            start = block.first
        end = block.past
    if end > start:
        yield start, end


def _between(settled: Iterable[int], first: int, past: int) -> Iterator[tuple[int, int]]:
    """Yield what lies between the settled chunks of first … past - 1."""
    for chunk in settled:
        if chunk > first:
            yield first, chunk
        first = chunk + 1
    if past > first:
        yield first, past
