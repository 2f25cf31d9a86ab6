"""Templates that are filled from a record: URLs by RFC 6570, and plain text.

A compiled template takes the record's row, a tuple of raw JSON values in the order of the
fields that the job uses, so that nothing is looked up by name once per record.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import quote, unquote

import msgspec
from uritemplate import URITemplate

from injector.errors import Lacking
from injector.manifest.record import decoded, field_text
from injector.manifest.row import Row

Fill = Callable[[Row], str]
Variable = str | list[str] | dict[str, str]

_BRACES = re.compile(r"\{[^{}]*\}|[{}]")
_EXPRESSION = re.compile(r"\{(?P<operator>[+#./;?&]?)(?P<variables>[^{}]*)\}")
_VARIABLE = re.compile(r"(?P<name>[\w.%-]+)(?P<modifier>\*|:[1-9]\d{0,3})?")
_HOLE = re.compile(r"\{([\w.%-]+)\}")
_URL_SAFE = re.compile(rb'"([A-Za-z0-9._~-]+)"|([0-9.eE-]+)')


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a template: literal text, or an expression over fields.

    `operator` is RFC 6570's. `simple` tells that the expression is one name and nothing else.
    """

    text: str
    fields: tuple[str, ...] = ()
    operator: str = ""
    simple: bool = False


def url_pieces(template: str) -> tuple[Piece, ...]:
    """Split a URL template; raise ValueError with the reason when it is not one."""
    pieces: list[Piece] = []
    end = 0
    for found in _BRACES.finditer(template):
        if found.start() > end:
            pieces.append(Piece(template[end : found.start()]))
        pieces.append(_expression(found[0]))
        end = found.end()
    if end < len(template):
        pieces.append(Piece(template[end:]))
    return tuple(pieces)


def text_pieces(template: str) -> tuple[Piece, ...]:
    """Split a text in which only `{name}` is filled; other braces stand for themselves."""
    split = _HOLE.split(template)
    pieces = [
        Piece(part, (unquote(part),), simple=True) if index % 2 else Piece(part)
        for index, part in enumerate(split)
    ]
    return tuple(piece for piece in pieces if piece.text)


def fields_of(pieces: Sequence[Piece]) -> tuple[str, ...]:
    """Name the fields that a template uses, each once, in their order."""
    return tuple(dict.fromkeys(field for piece in pieces for field in piece.fields))


def compile_url(pieces: Sequence[Piece], position: dict[str, int]) -> Fill:
    """Compile a URL template: simple expansions quickly, all others by the uritemplate library.

    A field that is missing or null rejects the record, and so does an empty one in the path,
    for it would name another resource; `{?a}` and `{&a}` leave a missing field out.
    """
    in_path = True
    fillers: list[Fill] = []
    for piece in pieces:
        fillers.append(_url_filler(piece, position, needs_text=in_path))
        in_path = in_path and "?" not in piece.text and "#" not in piece.text
    return _joined(pieces, fillers)


def compile_text(pieces: Sequence[Piece], position: dict[str, int]) -> Fill:
    """Compile a text template; each field's text goes in as it is."""
    fillers = [_text_filler(piece, position) for piece in pieces]
    return _joined(pieces, fillers)


def text_at(row: Row, index: int, name: str) -> str:
    """Return the text of the row's field; raise Rejected when it is missing or null."""
    value = row[index]
    if isinstance(value, msgspec.UnsetType):
        raise Lacking(name)
    return field_text(name, value)


def _expression(text: str) -> Piece:
    found = _EXPRESSION.fullmatch(text)
    if not found:
        raise ValueError(f"has an unmatched {text!r}; write an expression such as {{user_id}}")
    variables = [_VARIABLE.fullmatch(part) for part in found["variables"].split(",")]
    names = [variable["name"] for variable in variables if variable]
    if len(names) < len(variables):
        raise ValueError(f"has the expression {text}; write one such as {{user_id}} or {{?a,b}}")
    simple = len(names) == 1 and not found["operator"] and names[0] == found["variables"]
    return Piece(text, tuple(unquote(name) for name in names), found["operator"], simple)


def _joined(pieces: Sequence[Piece], fillers: list[Fill]) -> Fill:
    """Join the pieces; a template with one expression, the usual case, without a loop."""
    holes = [index for index, piece in enumerate(pieces) if piece.fields]
    if not holes:
        whole = "".join(piece.text for piece in pieces)
        return lambda _row: whole
    if len(holes) > 1:
        return lambda row: "".join([fill(row) for fill in fillers])
    (hole,) = holes
    before = "".join(piece.text for piece in pieces[:hole])
    after = "".join(piece.text for piece in pieces[hole + 1 :])
    fill = fillers[hole]
    return lambda row: before + fill(row) + after


def _literal(text: str) -> Fill:
    return lambda _row: text


def _url_filler(piece: Piece, position: dict[str, int], *, needs_text: bool) -> Fill:
    if not piece.fields:
        return _literal(piece.text)
    if not piece.simple:
        return _by_library(piece, position)
    (name,) = piece.fields
    index = position[name]
    of_many = _by_library(piece, position)

    def fill(row: Row) -> str:
        value = row[index]
        if isinstance(value, msgspec.UnsetType):
            raise Lacking(name)
        if safe := _URL_SAFE.fullmatch(value):
            return (safe[1] or safe[2]).decode()
        if bytes(value)[:1] in {b"[", b"{"}:
            return of_many(row)
        text = field_text(name, value)
        if needs_text and not text:
            raise Lacking(name)
        return quote(text, safe="")

    return fill


def _by_library(piece: Piece, position: dict[str, int]) -> Fill:
    template = URITemplate(piece.text)
    names = [str(name) for variable in template.variables for name in variable.variable_names]
    optional = piece.operator in {"?", "&"}
    slots = [(name, unquote(name), position[unquote(name)]) for name in names]

    def fill(row: Row) -> str:
        values = {name: _variable(row[index], field) for name, field, index in slots}
        absent = [field for name, field, _ in slots if values[name] is None]
        if absent and not optional:
            raise Lacking(absent[0])
        return template.expand({name: v for name, v in values.items() if v is not None})

    return fill


def _variable(value: msgspec.Raw | msgspec.UnsetType, name: str) -> Variable | None:
    """Return a field as the library wants it: text, texts, or texts by key.

    None for one that is missing, null, or an empty list or object: RFC 6570 has them undefined.
    """
    if isinstance(value, msgspec.UnsetType) or bytes(value) == b"null":
        return None
    if bytes(value)[:1] == b"[":
        items = decoded(value, list[msgspec.Raw])
        return [field_text(name, item) for item in items] or None
    if bytes(value)[:1] == b"{":
        pairs = decoded(value, dict[str, msgspec.Raw])
        return {key: field_text(name, item) for key, item in pairs.items()} or None
    return field_text(name, value)


def _text_filler(piece: Piece, position: dict[str, int]) -> Fill:
    if not piece.fields:
        return _literal(piece.text)
    (name,) = piece.fields
    index = position[name]
    return lambda row: text_at(row, index, name)
