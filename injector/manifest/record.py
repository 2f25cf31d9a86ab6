"""One record of the source, as the bytes of its JSON object."""

from dataclasses import dataclass

import msgspec

from injector.errors import Rejected

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Record:
    """A record: its place in the source, and its JSON object exactly as it may be sent.

    `ordinal` counts the source's records from 0, bad ones too. `line` is the physical line
    in the file on which it starts, from 1.
    """

    ordinal: int
    line: int
    raw: bytes

    def fields(self) -> dict[str, msgspec.Raw]:
        """Return each field's own JSON bytes, so that a number keeps every digit."""
        try:
            return _FIELDS.decode(self.raw)
        except msgspec.DecodeError as error:
            raise Rejected(f"is not a JSON object: {error}") from error


def field_text(name: str, value: bytes | memoryview) -> str:
    """Return a field's text: a string's characters, or the source text of any other value.

    `1.0` stays `1.0`, and a 64-bit id keeps its last digits. Raises Rejected for null.
    """
    written = bytes(value)
    if written[:1] == b'"':
        text: str = msgspec.json.decode(written)
        return text
    if written == b"null":
        raise missing(name)
    return written.decode()


def missing(name: str) -> Rejected:
    """Make the verdict on a record that lacks a field that its task needs."""
    return Rejected(f"needs a value in {name!r}")
