"""A chunk's first receipt, kept by PostgreSQL in one round trip.

It is what `receipts` does in seven: each trip costs more than the work, and rows that others
wait for are locked meanwhile. What it cannot do, it leaves undone and says so. Signals come
before counters here as there (by themselves the parts of one statement have no order), so
that the two ways never wait for each other in a circle.
"""

from collections.abc import Mapping

import orjson
from sqlalchemy import Connection, text

from injector.ledger.joining import pack
from injector.ledger.message_ids import pack_ids
from injector.ledger.shards import shard_of
from injector.ledger.signals import minute_of
from injector.ledger.values import Receipt

_KEEP_FIRST = text("""
WITH found AS (
  SELECT key, queue_group FROM jobs WHERE id = :id AND :chunk BETWEEN 0 AND chunks - 1
), kept AS (
  INSERT INTO receipts (job, chunk, records, settled, masks)
  SELECT key, :chunk, :records, :settled, CAST(:masks AS bytea) FROM found
  ON CONFLICT DO NOTHING
  RETURNING job
), seen AS (
  INSERT INTO signals AS s (queue_group, minute, shard, counts_json)
  SELECT queue_group, :minute, :shard, :counts FROM found, kept WHERE :counts <> '{}'
  ON CONFLICT (queue_group, minute, shard) DO UPDATE SET counts_json = (
    SELECT json_object_agg(key, total) FROM (
      SELECT key, sum(CAST(value AS bigint)) AS total FROM (
        SELECT * FROM json_each_text(CAST(s.counts_json AS json))
        UNION ALL SELECT * FROM json_each_text(CAST(excluded.counts_json AS json))
      ) AS both_rows GROUP BY key
    ) AS sums
  )
  RETURNING shard
), named AS (
  INSERT INTO message_ids (job, chunk, ids)
  SELECT job, :chunk, CAST(:ids AS bytea) FROM kept WHERE CAST(:ids AS bytea) IS NOT NULL
  ON CONFLICT DO NOTHING
), added AS (
  INSERT INTO counters AS c (job, shard, chunks, created, existed, rejected)
  SELECT job, :shard, CAST(:settled AS int), :created, :existed, 0 FROM kept
  WHERE (SELECT count(*) FROM seen) >= 0
  ON CONFLICT (job, shard) DO UPDATE SET
    chunks = c.chunks + excluded.chunks,
    created = c.created + excluded.created,
    existed = c.existed + excluded.existed
)
SELECT count(*) FROM kept
""")


def keep_first(
    connection: Connection, *, receipt: Receipt, counts: Mapping[str, int], now: float
) -> bool:
    """Keep it and all that goes with it, or return False, having done nothing.

    The job may be unknown, the chunk may have a receipt already, or some records are rejected
    and are to be listed. The receipt must be one that `join` gave.
    """
    if receipt.rejected_mask or not receipt.settled_mask:
        return False
    row = {
        "id": receipt.job,
        "chunk": receipt.chunk,
        "records": receipt.records,
        "settled": receipt.settled,
        "masks": pack(receipt),
        "created": receipt.created_mask.bit_count(),
        "existed": receipt.existed_mask.bit_count(),
        "shard": shard_of(receipt.chunk),
        "minute": minute_of(now),
        "ids": pack_ids(receipt.message_ids) if receipt.message_ids else None,
        "counts": orjson.dumps(dict(counts)).decode(),
    }
    return bool(connection.scalar(_KEEP_FIRST, row))
