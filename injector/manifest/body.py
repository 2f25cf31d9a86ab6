"""A task's body: the record itself, nothing, a text, or JSON with fields of the record in it."""

import json
import math
from collections.abc import Callable, Iterator
from typing import cast

import msgspec
from pydantic import JsonValue

from injector.errors import Lacking
from injector.manifest.fields import wrong
from injector.manifest.nodes import Plain
from injector.manifest.row import Row
from injector.manifest.template import Piece, compile_text, fields_of, text_at, text_pieces

Fill = Callable[[Row], bytes]


def plain_json(value: object) -> JsonValue:
    """Turn what the YAML reader gives into JSON, asking for quotes where parsers disagree."""
    if isinstance(value, dict):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain_json(item) for item in value]
    if isinstance(value, Plain):
        return _plain_scalar(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise wrong(f"{value} is not a JSON number")
    return cast("JsonValue", value)


def body_fields(body: JsonValue) -> tuple[str, ...]:
    """Name the fields that a body template uses."""
    texts = [body] if isinstance(body, str) else _texts(body)
    return tuple(dict.fromkeys(field for text in texts for field in fields_of(text_pieces(text))))


def compile_body(body: JsonValue, position: dict[str, int]) -> Fill:
    """Compile a text, or JSON in which `"{name}"` alone stands for the field's own JSON value.

    Within a longer text, `{name}` is the field's text, escaped as JSON needs it.
    """
    if isinstance(body, str):
        fill = compile_text(text_pieces(body), position)
        return lambda row: fill(row).encode()
    parts = [_part(part, position) for part in _merged(_json_parts(body))]
    if len(parts) == 1:
        return parts[0]
    return lambda row: b"".join([part(row) for part in parts])


def _plain_scalar(value: Plain) -> JsonValue:
    if value.kind == "text":
        return str(value)
    if value.kind == "boolean":
        return value.lower() == "true"
    if value.kind == "number":
        return cast("JsonValue", json.loads(_json_number(value)))
    raise wrong(f'{value} reads as a {value.kind}; quote it: "{value}"')


def _json_number(value: Plain) -> str:
    complaint = f'{value} is not a JSON number; quote it: "{value}"'
    try:
        number = json.loads(value)
    except ValueError as error:
        raise wrong(complaint) from error
    if not math.isfinite(number):
        raise wrong(complaint)
    return str(value)


def _texts(body: JsonValue) -> Iterator[str]:
    if isinstance(body, str):
        yield body
    elif isinstance(body, dict):
        for item in body.values():
            yield from _texts(item)
    elif isinstance(body, list):
        for item in body:
            yield from _texts(item)


def _json_parts(value: JsonValue) -> Iterator[bytes | Piece]:
    """Yield the JSON text, with a simple Piece for a whole value and one marked '"' within text."""
    if isinstance(value, str):
        yield from _text_parts(value)
    elif isinstance(value, dict):
        yield from _nested("{}", [(_dump(key) + b":", item) for key, item in value.items()])
    elif isinstance(value, list):
        yield from _nested("[]", [(b"", item) for item in value])
    else:
        yield _dump(value)


def _nested(brackets: str, items: list[tuple[bytes, JsonValue]]) -> Iterator[bytes | Piece]:
    yield brackets[0].encode()
    for index, (key, item) in enumerate(items):
        yield (b"," if index else b"") + key
        yield from _json_parts(item)
    yield brackets[1].encode()


def _text_parts(text: str) -> Iterator[bytes | Piece]:
    pieces = text_pieces(text)
    if len(pieces) == 1 and pieces[0].fields:
        yield pieces[0]
        return
    yield b'"'
    for piece in pieces:
        yield (
            Piece(piece.text, piece.fields, operator='"')
            if piece.fields
            else _dump(piece.text)[1:-1]
        )
    yield b'"'


def _merged(parts: Iterator[bytes | Piece]) -> Iterator[bytes | Piece]:
    """Join neighbouring literals."""
    literal = b""
    for part in parts:
        if isinstance(part, bytes):
            literal += part
            continue
        yield literal
        yield part
        literal = b""
    yield literal


def _part(part: bytes | Piece, position: dict[str, int]) -> Fill:
    if isinstance(part, bytes):
        return lambda _row: part
    (name,) = part.fields
    index = position[name]
    if part.operator:
        return lambda row: _dump(text_at(row, index, name))[1:-1]
    return lambda row: _whole(row, index, name)


def _whole(row: Row, index: int, name: str) -> bytes:
    value = row[index]
    if isinstance(value, msgspec.UnsetType):
        raise Lacking(name)
    return bytes(value)


def _dump(value: JsonValue) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
