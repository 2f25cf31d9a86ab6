"""One record of the source, as the bytes of its JSON object."""

from itertools import islice
from typing import TypeVar

import msgspec

from injector.errors import Lacking, Rejected

FIELDS_SHOWN = 8
NAME_SHOWN = 40

T = TypeVar("T")


class Record(msgspec.Struct, frozen=True, gc=False):
    """A record: its place in the source, and its JSON object exactly as it may be sent.

    `ordinal` counts the source's records from 0, bad ones too. `line` is the physical line
    in the file on which it starts, from 1. `file` names the source file; it is empty where the
    record is judged before it is staged. `origin` is what `ordinal` was in the job whose record is
    sent again, and -1 for a record that is sent for the first time.
    """

    ordinal: int
    line: int
    raw: bytes
    file: str = ""
    origin: int = -1

    @property
    def place(self) -> int:
        """Return the record's place in the source that it first came from; names depend on it."""
        return self.ordinal if self.origin < 0 else self.origin

    def fields(self) -> dict[str, msgspec.Raw]:
        """Return each field's own JSON bytes, so that a number keeps every digit."""
        return decoded(self.raw, dict[str, msgspec.Raw])


def field_text(name: str, value: bytes | memoryview) -> str:
    """Return a field's text: a string's characters, or the source text of any other value.

    `1.0` stays `1.0`, and a 64-bit id keeps its last digits. Raises Rejected for null.
    """
    written = bytes(value)
    if written[:1] == b'"':
        return decoded(written, str)
    if written == b"null":
        raise Lacking(name)
    try:
        return written.decode()
    except UnicodeDecodeError as error:
        raise Rejected(f"is not UTF-8 in {name!r}") from error


def decoded(raw: bytes | memoryview, kind: type[T]) -> T:
    """Read JSON of that kind; raise Rejected when it is something else."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError as error:
        raise Rejected(f"is not JSON as it should be: {error}") from error


def reason_of(error: Rejected, record: Record) -> str:
    """Say why a record is refused; where it has no such field, with the fields that it has."""
    if not isinstance(error, Lacking) or error.field in (names := record.fields()):
        return str(error)
    shown = ", ".join(repr(name[:NAME_SHOWN]) for name in islice(names, FIELDS_SHOWN))
    more = f" and {len(names) - FIELDS_SHOWN} more" if len(names) > FIELDS_SHOWN else ""
    return f"{error}; its fields are {shown}{more}" if names else f"{error}; it has no fields"
