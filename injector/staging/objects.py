"""What a line must be to become a task's record: one JSON object that all parsers read alike."""

import json
import re
from collections import Counter
from collections.abc import Sequence

import orjson

_NOT_JSON = re.compile(r"-?(NaN|Infinity)\b")
_MARK = "2f1c97b0d3e84a56"
_BETWEEN = b',"%b",' % _MARK.encode()
_NAMES = {list: "an array", str: "text", bool: "true or false", type(None): "null"}


def faults_of(raws: Sequence[bytes]) -> list[str | None]:
    """Return what `fault_of` says of each, at a third less cost where all are good."""
    return [None] * len(raws) if _are_good(raws) else [fault_of(raw) for raw in raws]


def fault_of(raw: bytes) -> str | None:
    """Return why the bytes are no record, or None if they are.

    Stricter than JSON where parsers differ, since the bytes are sent as they are: a key that
    repeats, a number that is infinite as a double, half of a surrogate pair and very deep
    nesting are refused. Integers of more than 64 bits pass, and keep their digits.
    """
    try:
        value = orjson.loads(raw)
        written = orjson.dumps(value)
    except orjson.JSONDecodeError as error:
        return _syntax_fault(raw, error)
    except orjson.JSONEncodeError:
        return "is nested too deeply: over 250 levels"
    if type(value) is not dict:
        return f"is {_NAMES.get(type(value), 'a number')}, not a JSON object"
    if written != raw and _may_repeat(raw, written):
        return _repeated_key(raw)
    return None


def _are_good(raws: Sequence[bytes]) -> bool:
    """Check many records as one array; if in doubt, they are not good.

    A mark stands between them. So a line that is no whole value cannot be made one by its
    neighbours: that would take a mark away.
    """
    joined = b"[%b]" % _BETWEEN.join(raws)
    try:
        values = orjson.loads(joined)
        written = orjson.dumps(values)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return False
    return (
        values[1::2] == [_MARK] * (len(raws) - 1)
        and list(map(type, values[::2])) == [dict] * len(raws)
        and not _may_repeat(joined, written)
    )


def value_fault(raw: bytes) -> str | None:
    """Return why the bytes are no JSON value that may be a record's field, or None."""
    try:
        orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return _syntax_fault(raw, error)
    return fault_of(b'{"":%b}' % raw)


def _syntax_fault(raw: bytes, error: orjson.JSONDecodeError) -> str:
    text, at = raw.decode(errors="replace"), error.pos
    if text.startswith("\ufeff"):
        return "starts with a byte order mark, as where files were joined"
    if "\0" in text:
        return f"holds a NUL byte (column {text.index(chr(0)) + 1})"
    if constant := _NOT_JSON.match(text, max(0, at - 1)) or _NOT_JSON.match(text, at):
        return f"is not JSON: {constant[0]} is no JSON number (column {at + 1})"
    return f"is not JSON: {error.msg} (column {at + 1})"


def _may_repeat(raw: bytes, written: bytes) -> bool:
    """Tell whether a key may occur twice, without the slow parser that sees each key.

    A colon stands after each key, and in texts; what was parsed and written out again has
    fewer of them only if a key was dropped. An escaped colon could hide that.
    """
    return raw.count(b":") != written.count(b":") or (b"\\" in raw and rb"\u003" in raw)


def _repeated_key(raw: bytes) -> str | None:
    repeated: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        counts = Counter(key for key, _ in pairs)
        repeated.extend(key for key, count in counts.items() if count > 1)

    json.loads(raw, object_pairs_hook=note, parse_int=str)
    return f"has the key {repeated[0]!r} twice" if repeated else None
