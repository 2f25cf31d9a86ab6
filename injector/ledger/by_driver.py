"""What every chunk asks of SQLite, asked of its driver.

SQLAlchemy spends ten times the work itself on such small statements. They are the ones of
`receipts`, written out once; what is not a chunk's first receipt, or lists rejects, goes there.
"""

import sqlite3
from collections import Counter
from collections.abc import Mapping
from functools import cache

import orjson
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql import ClauseElement

from injector.ledger.joining import pack
from injector.ledger.message_ids import pack_ids
from injector.ledger.shards import shard_of
from injector.ledger.signals import minute_of
from injector.ledger.values import Receipt

_FIND = "SELECT key, queue_group, chunks FROM jobs WHERE id = ?"
_KEEP = """
INSERT INTO receipts (job, chunk, records, settled, masks)
VALUES (:job, :chunk, :records, :settled, :masks) ON CONFLICT DO NOTHING
"""
_NAME = "INSERT INTO message_ids (job, chunk, ids) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_SEEN = "SELECT counts_json FROM signals WHERE queue_group = ? AND minute = ? AND shard = ?"
_SEE = """
INSERT INTO signals (queue_group, minute, shard, counts_json) VALUES (?, ?, ?, ?)
ON CONFLICT (queue_group, minute, shard) DO UPDATE SET counts_json = excluded.counts_json
"""
_ADD = """
INSERT INTO counters (job, shard, chunks, created, existed, rejected)
VALUES (:job, :shard, :settled, :created, :existed, 0)
ON CONFLICT (job, shard) DO UPDATE SET
  chunks = chunks + excluded.chunks,
  created = created + excluded.created,
  existed = existed + excluded.existed
"""


@cache
def text_of(statement: ClauseElement) -> str:
    """Write a statement for the driver; its parameters go by their names."""
    return str(statement.compile(dialect=sqlite.dialect(paramstyle="named")))


def keep_first(
    database: sqlite3.Connection, *, receipt: Receipt, counts: Mapping[str, int], now: float
) -> bool:
    """Keep it and all that goes with it, or return False, having done nothing.

    As `one_trip.keep_first` does on PostgreSQL, and for the same receipts.
    """
    if receipt.rejected_mask or not receipt.settled_mask:
        return False
    with database:
        database.execute("BEGIN IMMEDIATE")
        return _keep(database, receipt, counts, now=now)


def _keep(
    database: sqlite3.Connection, receipt: Receipt, counts: Mapping[str, int], *, now: float
) -> bool:
    found = database.execute(_FIND, (receipt.job,)).fetchone()
    if found is None or not 0 <= receipt.chunk < found[2]:
        return False
    key, group, _ = found
    row = {"job": key, "chunk": receipt.chunk, "records": receipt.records}
    row |= {"settled": receipt.settled, "masks": pack(receipt)}
    if database.execute(_KEEP, row).rowcount == 0:
        return False
    shard = shard_of(receipt.chunk)
    if counts:
        _see(database, (group, minute_of(now), shard), counts)
    if receipt.message_ids:
        database.execute(_NAME, (key, receipt.chunk, pack_ids(receipt.message_ids)))
    row |= {"shard": shard, "created": receipt.created_mask.bit_count()}
    database.execute(_ADD, row | {"existed": receipt.existed_mask.bit_count()})
    return True


def _see(
    database: sqlite3.Connection, place: tuple[str, int, int], counts: Mapping[str, int]
) -> None:
    """Add to a row of signals; nobody else can meanwhile, since the file is locked."""
    total = Counter(counts)
    if kept := database.execute(_SEEN, place).fetchone():
        total.update(orjson.loads(kept[0]))
    database.execute(_SEE, (*place, orjson.dumps(dict(total)).decode()))
