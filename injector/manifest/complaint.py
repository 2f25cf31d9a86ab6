"""What a schema found wrong, said to a person: place, cause, remedy."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from injector.manifest.document import Document
from injector.manifest.problem import Problem

Path = tuple[str | int, ...]

OUTPUT_ONLY = "is output only: Cloud Tasks derives it from the rate; leave it out"
HINTS: Mapping[str, str] = {
    "max_burst_size": OUTPUT_ONLY,
    "max_dispatches_per_second": "is a queue's setting: Terraform makes it, and the ramp moves it",
    "max_concurrent_dispatches": "is a queue's setting: Terraform makes it, and the ramp moves it",
    "queue": "belongs to the group's configuration; a manifest names a group",
    "queues": "belongs to the group's configuration; a manifest names a group",
    "injector_queues": "belongs to the group's configuration; a manifest names a group",
    "ramp": "belongs to the group's configuration; a manifest names a group",
    "name_prefix": "is not offered: names begin with a digest, since shared prefixes slow creates",
    "task_id": "is not offered: names begin with a digest, since shared prefixes slow creates",
}


def problems_of(
    error: ValidationError, model: type[BaseModel], document: Document
) -> Iterator[Problem]:
    """Turn each error of the schema into a problem at its place in the document."""
    for found in error.errors(include_url=False):
        path = _path(found["loc"])
        yield Problem(document.place_of(path), explain(found, model))


def explain(found: ErrorDetails, model: type[BaseModel]) -> str:
    """Say what is wrong and what would do."""
    path = _path(found["loc"])
    name = ".".join(str(part) for part in path).rstrip(".")
    match found["type"]:
        case "missing":
            return f"needs {name!r}; add it"
        case "extra_forbidden":
            return _unknown_key(path, model)
        case "string_too_short" | "too_short":
            return f"{name}: needs a value"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{name or 'the file'}: expected a mapping, got {_shown(found['input'])}"
        case "union_tag_invalid":
            return f"{name}: {_shown(found['input'])} will not do here"
        case _:
            names_itself = not name or found["type"] == "lacking"
            return str(found["msg"]) if names_itself else f"{name}: {found['msg']}"


def _path(location: tuple[str | int, ...]) -> Path:
    """Leave out what names a branch of the schema instead of a key of the file."""
    return tuple(
        part for part in location if isinstance(part, int) or not part.startswith(("<", "[key]"))
    )


def _unknown_key(path: Path, model: type[BaseModel]) -> str:
    key, parents = str(path[-1]), path[:-1]
    if key in HINTS:
        return f"unknown key {key!r}: it {HINTS[key]}"
    allowed = list(_keys_at(model, parents))
    if key in allowed:
        return f"unknown key {key!r} beside the others; keep one"
    if near := get_close_matches(key, allowed, n=1):
        return f"unknown key {key!r}; did you mean {near[0]!r}?"
    if near := get_close_matches(key, HINTS, n=1):
        return f"unknown key {key!r}; did you mean {near[0]!r}? It {HINTS[near[0]]}"
    elsewhere = next((path for path in _all_paths(model) if path.endswith(f".{key}")), "")
    if elsewhere:
        return f"unknown key {key!r} here; it belongs in {elsewhere.removesuffix(f'.{key}')}"
    return f"unknown key {key!r}; keys here are {', '.join(allowed)}"


def _keys_at(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """Return the keys that the schema has at the path, those of every branch of a union."""
    models = [model]
    for part in path:
        fields = [inner.model_fields.get(str(part)) for inner in models]
        found = [item for field in fields if field for item in _models_in(field.annotation)]
        models = found or models
    return tuple(dict.fromkeys(key for inner in models for key in inner.model_fields))


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for inner in get_args(annotation):
        yield from _models_in(inner)


def _all_paths(model: type[BaseModel], parent: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{parent}.{name}" if parent else name
        yield path
        for inner in _models_in(field.annotation):
            yield from _all_paths(inner, path)


def _shown(value: object) -> str:
    if value is None:
        return "no value"
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else repr(str(value))
