"""The rows of many records, field by field: what is asked of each text is asked of all at once.

A call of C for a hundred records takes the place of a hundred of Python, as long as no value is
out of the ordinary. Where one is, each is read by itself, to the same end.
"""

import re
from collections.abc import Callable, Sequence

import msgspec

from injector.manifest.row import Row
from injector.manifest.template import Fill, Piece, text_at

FillAll = Callable[["Columns"], list[str]]

_SAFE_IN_URL = re.compile(r"[A-Za-z0-9._~/-]+")
_texts = msgspec.json.Decoder(list[str]).decode


class Columns:
    """The rows; the texts of a field are made once, whatever uses them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self._known: dict[int, list[str]] = {}

    def texts(self, index: int, name: str) -> list[str]:
        """Return the field's text in each row; raise Rejected when one has none."""
        if index not in self._known:
            values = [row[index] for row in self.rows]
            found = _read(values)
            self._known[index] = found or [text_at(row, index, name) for row in self.rows]
        return self._known[index]


def compile_all(pieces: Sequence[Piece], fill: Fill, position: dict[str, int]) -> FillAll:
    """Compile a URL template that `fill` fills once, to be filled for many rows."""
    holes = [index for index, piece in enumerate(pieces) if piece.fields]
    if len(holes) != 1 or not pieces[holes[0]].simple:
        return lambda columns: [fill(row) for row in columns.rows]
    (hole,) = holes
    before = "".join(piece.text for piece in pieces[:hole])
    after = "".join(piece.text for piece in pieces[hole + 1 :])
    (name,) = pieces[hole].fields
    index = position[name]

    def fill_all(columns: Columns) -> list[str]:
        texts = columns.texts(index, name)
        if _are_safe(texts):
            return [f"{before}{text}{after}" for text in texts]
        return [fill(row) for row in columns.rows]

    return fill_all


def _read(values: Sequence[msgspec.Raw | msgspec.UnsetType]) -> list[str]:
    """Read texts, or numbers as they are written; nothing if they are mixed, or something else."""
    try:
        joined = b"\0".join(values)  # type: ignore[arg-type]
        if b'"' in joined:
            return _texts(b"[%b]" % joined.replace(b"\0", b","))
        return [] if b"n" in joined or not joined else joined.decode().split("\0")
    except (TypeError, ValueError):
        return []


def _are_safe(texts: Sequence[str]) -> bool:
    """Tell whether the texts stand for themselves in a URL; a slash parts them here."""
    joined = "/".join(texts)
    whole = joined.count("/") == len(texts) - 1 and all(texts)
    return whole and _SAFE_IN_URL.fullmatch(joined) is not None
