"""The fields of a record that a job uses, found in one pass over its JSON."""

from collections.abc import Callable, Sequence

import msgspec

from injector.errors import Rejected

Row = Sequence[msgspec.Raw | msgspec.UnsetType]


def row_reader(fields: tuple[str, ...]) -> Callable[[bytes], Row]:
    """Make the function that picks the fields, in this order; each keeps its JSON text.

    Whatever else the record holds is checked for its syntax and skipped.
    """
    names = [f"f{index}" for index in range(len(fields))]
    kind = msgspec.defstruct(
        "Row",
        [(name, msgspec.Raw | msgspec.UnsetType, msgspec.UNSET) for name in names],
        rename=dict(zip(names, fields, strict=True)),
    )
    decode = msgspec.json.Decoder(kind).decode
    values = msgspec.structs.astuple

    def read(raw: bytes) -> Row:
        try:
            return values(decode(raw))
        except msgspec.DecodeError as error:
            raise Rejected(f"is not a JSON object: {error}") from error

    return read
