"""Which bytes make a record itself: its place, its content, or one of its fields."""

from collections.abc import Callable, Sequence

import msgspec

from injector.errors import Lacking
from injector.manifest.columns import Columns
from injector.manifest.record import Record, decoded
from injector.manifest.row import Row
from injector.manifest.schema import ByField
from injector.manifest.template import text_at

Identity = Callable[[Row, Record], tuple[bytes, str]]
Identities = Callable[[Columns, Sequence[Record]], tuple[Sequence[bytes], Sequence[str]]]


def identity_of(rule: str | ByField, position: dict[str, int]) -> Identity:
    """Make the function that gives a record's identity, and the readable suffix of its task id."""
    if isinstance(rule, ByField):
        return _by_field(rule.field, position[rule.field])
    if rule == "content":
        return lambda _row, record: (canonical(record.raw), "")
    return _by_ordinal


def identities_of(rule: str | ByField, position: dict[str, int]) -> Identities:
    """Make the function that gives the identities of many records, and the suffixes."""
    if isinstance(rule, ByField):
        return _all_by_field(rule.field, position[rule.field])
    one = identity_of(rule, position)

    def identify(columns: Columns, records: Sequence[Record]) -> tuple[list[bytes], list[str]]:
        both = [one(row, record) for row, record in zip(columns.rows, records, strict=True)]
        return [identity for identity, _ in both], [suffix for _, suffix in both]

    return identify


def _all_by_field(name: str, index: int) -> Identities:
    def identify(columns: Columns, _records: Sequence[Record]) -> tuple[list[bytes], list[str]]:
        texts = columns.texts(index, name)
        if not all(texts):
            raise Lacking(name)
        return [text.encode() for text in texts], texts

    return identify


def _by_ordinal(_row: Row, record: Record) -> tuple[bytes, str]:
    place = str(record.place)
    return place.encode(), place


def _by_field(name: str, index: int) -> Identity:
    def identify(row: Row, _record: Record) -> tuple[bytes, str]:
        text = text_at(row, index, name)
        if not text:
            raise Lacking(name)
        return text.encode(), text

    return identify


def canonical(raw: bytes | msgspec.Raw) -> bytes:
    """Write the JSON with sorted keys, one form of escapes and no spaces; numbers stay as written.

    The order of the fields and the spelling of a letter do not matter; `1.0` and `1` differ,
    and so do the composed and the decomposed form of an accented letter.
    """
    written = bytes(raw)
    first = written[:1]
    if first == b"{":
        pairs = decoded(written, dict[str, msgspec.Raw])
        items = (msgspec.json.encode(key) + b":" + canonical(pairs[key]) for key in sorted(pairs))
        return b"{" + b",".join(items) + b"}"
    if first == b"[":
        values = decoded(written, list[msgspec.Raw])
        return b"[" + b",".join(map(canonical, values)) + b"]"
    if first == b'"' and b"\\" in written:
        return msgspec.json.encode(decoded(written, str))
    return written.strip()
