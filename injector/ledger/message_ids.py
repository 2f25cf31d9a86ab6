"""What Pub/Sub called the messages of a topic's jobs: a row for each chunk, a few bytes a message.

Pub/Sub's ids are decimal numbers, and those of one request follow each other. So each is kept
as its distance from the one before: about two bytes for each message instead of twenty. Ids
that are something else are kept as they are, compressed.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence

import orjson
from sqlalchemy import Connection, bindparam, select, update

from injector.ledger.lookup import find
from injector.ledger.statements import add_new
from injector.ledger.tables import message_ids
from injector.ledger.values import Receipt
from injector.protobuf import read_varint, varint

_TEXTS, _NUMBERS = b"\0", b"\1"
_LARGEST = 2**62

_AT = (message_ids.c.job == bindparam("key")) & (message_ids.c.chunk == bindparam("at"))
_LOCKED = select(message_ids.c.ids).where(_AT).with_for_update()
_UPDATE = update(message_ids).where(_AT)


def pack_ids(ids: Sequence[str]) -> bytes:
    """Lay the ids out; an empty one is a message that there is not."""
    if all(_is_number(each) for each in ids if each):
        return _NUMBERS + b"".join(_distances(ids))
    return _TEXTS + zlib.compress(orjson.dumps(list(ids)))


def unpack_ids(packed: bytes) -> list[str]:
    """Read what `pack_ids` laid out."""
    if packed[:1] == _TEXTS:
        texts: list[str] = orjson.loads(zlib.decompress(packed[1:]))
        return texts
    ids, last, at = [], 0, 1
    while at < len(packed):
        number, at = read_varint(packed, at)
        if number:
            last += _signed(number - 1)
        ids.append(str(last) if number else "")
    return ids


def add_ids(connection: Connection, key: int, whole: Receipt) -> None:
    """Keep the receipt's ids beside those that the chunk has."""
    if not whole.message_ids:
        return
    row = {"job": key, "chunk": whole.chunk, "ids": pack_ids(whole.message_ids)}
    if add_new(connection, message_ids, row):
        return
    at = {"key": key, "at": whole.chunk}
    kept = unpack_ids(connection.scalars(_LOCKED, at).one())
    both = [new or old for new, old in zip(whole.message_ids, kept, strict=True)]
    connection.execute(_UPDATE, at | {"ids": pack_ids(both)})


def ids_of(
    connection: Connection, *, job_id: str, first: int, past: int
) -> Mapping[int, Sequence[str]]:
    """Return the ids of those chunks of a job that have any."""
    c = message_ids.c
    here = (c.job == find(connection, job_id).key) & (c.chunk >= first) & (c.chunk < past)
    rows = connection.execute(select(c.chunk, c.ids).where(here))
    return {row.chunk: unpack_ids(row.ids) for row in rows}


def _is_number(text: str) -> bool:
    """Tell whether it is a number that is written as numbers are."""
    return text.isascii() and text.isdecimal() and str(int(text)) == text and int(text) < _LARGEST


def _distances(ids: Sequence[str]) -> Iterator[bytes]:
    last = 0
    for each in ids:
        if not each:
            yield varint(0)
            continue
        number = int(each)
        yield varint(1 + _unsigned(number - last))
        last = number


def _unsigned(distance: int) -> int:
    """Let small distances either way be small numbers."""
    return distance * 2 if distance >= 0 else -distance * 2 - 1


def _signed(number: int) -> int:
    return number // 2 if number % 2 == 0 else -(number + 1) // 2
