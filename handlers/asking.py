"""What a request asks, read by the API's models."""

import re
from collections.abc import Iterator
from typing import TypeVar

from flask import request
from pydantic import BaseModel, ValidationError

from handlers.context import read_body
from handlers.nesting import is_deeper
from injector.errors import Misused

MAX_DEPTH = 64

Model = TypeVar("Model", bound=BaseModel)

_WHOLE = re.compile(r"(-?[0-9]{1,18})(\.0{1,9})?")
_ETAG = re.compile(r'"([0-9]{1,9})"')


def query(model: type[Model]) -> Model:
    """Read the query's parameters; an empty one says nothing.

    Raises Misused that names each wrong one and what it needs, or one that there is not.
    """
    if strange := [name for name in request.args if name not in model.model_fields]:
        known = ", ".join(model.model_fields)
        raise Misused(f"there is no parameter {strange[0][:80]!r}; there are {known}")
    given = ((name, request.args.get(name, "")) for name in model.model_fields)
    texts = {name: text for name, text in given if text}
    values = {name: _value(model, name, text) for name, text in texts.items()}
    try:
        return model.model_validate(values)
    except ValidationError as error:
        wrong = dict.fromkeys(str(found["loc"][0]) for found in error.errors())
        faults = (f"{name}={texts[name][:80]!r}: needs {_needs(model, name)}" for name in wrong)
        raise Misused("; ".join(faults)) from error


def body(model: type[Model], *, limit: int, name: str) -> Model:
    """Read the body, whatever type it claims to be; an empty one says nothing."""
    content = read_body(limit)
    if is_deeper(content, MAX_DEPTH):
        raise Misused(f"the body is nested more than {MAX_DEPTH} levels deep; send a flatter one")
    try:
        return model.model_validate_json(content or b"{}")
    except ValidationError as error:
        raise Misused(f"the body is not {name}: {'; '.join(_faults(error))}") from error


def expected_version() -> int | None:
    """Return the version that If-Match names; None when any will do."""
    text = request.headers.get("If-Match", "").strip()
    if text in {"", "*"}:
        return None
    found = _ETAG.fullmatch(text)
    if not found:
        raise Misused(f'If-Match: {text[:80]!r}: needs the ETag that was shown, such as "3"')
    return int(found[1])


def _value(model: type[BaseModel], name: str, text: str) -> object:
    """Read a number where the model wants one and the text is one."""
    whole = _WHOLE.fullmatch(text) if model.model_fields[name].annotation is int else None
    return int(whole[1]) if whole else text


def _needs(model: type[BaseModel], name: str) -> str:
    """Say which values a parameter may have."""
    schema = model.model_json_schema()["properties"][name]
    if "enum" in schema:
        return f"one of {', '.join(filter(None, schema['enum']))}"
    if "examples" in schema:
        return f"text such as {schema['examples'][0]}"
    if "pattern" in schema:
        return f"text: {schema.get('description', schema['pattern'])}"
    return f"a number from {schema['minimum']} to {schema['maximum']}"


def _faults(error: ValidationError) -> Iterator[str]:
    """Say of each fault of a body where it is, and what is needed there."""
    for found in error.errors(include_url=False, include_input=False):
        place = ".".join(str(part) for part in found["loc"])
        yield f"{place}: {found['msg']}" if place else found["msg"]
