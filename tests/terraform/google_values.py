"""What the provider does with values: plan them, settle them, refuse them. Pure.

A schema only says so much: ranges, patterns and what the API itself would say are not here.
"""

import json
import re
from collections.abc import Iterator, Mapping

import msgpack

Value = Mapping[str, object]
Path = tuple[str | int, ...]

UNKNOWN = msgpack.ExtType(0, b"\0")
_EMPTY = {"number": 0, "bool": False, "list": [], "set": [], "map": {}}
_ENUM = re.compile(r"Possible values: (\[[^\]]*\])")


def planned(block: Value, wanted: Value, prior: Value | None) -> Value:
    """Leave open what the provider decides, or keep what it has decided before."""
    plan = dict(wanted)
    for name, attribute in block.get("attributes", {}).items():
        if attribute.get("write_only"):
            plan[name] = None
        elif attribute.get("computed") and wanted.get(name) is None:
            plan[name] = prior.get(name) if prior else UNKNOWN
    for name, inner in block.get("block_types", {}).items():
        plan[name] = _planned_inside(inner["block"], wanted.get(name), (prior or {}).get(name))
    return plan


def _planned_inside(block: Value, wanted: object, prior: object) -> object:
    if isinstance(wanted, dict):
        return planned(block, wanted, prior)
    if not isinstance(wanted, list):
        return wanted
    olds = dict(enumerate(prior or []))
    return [
        planned(block, item, olds.get(place)) if isinstance(item, dict) else item
        for place, item in enumerate(wanted)
    ]


def settled(block: Value, plan: Value, known: Value, *, kind: str) -> Value:
    """Decide what is open: by what is known, else by something of the right type."""
    value = dict(plan)
    for name, attribute in block.get("attributes", {}).items():
        if value.get(name) == UNKNOWN:
            value[name] = known.get(name, _made_up(attribute["type"], f"{kind}-{name}"))
    for name, inner in block.get("block_types", {}).items():
        value[name] = _settled_inside(inner["block"], value.get(name), kind)
    return value


def _settled_inside(block: Value, value: object, kind: str) -> object:
    if isinstance(value, dict):
        return settled(block, value, {}, kind=kind)
    if isinstance(value, list):
        return [settled(block, item, {}, kind=kind) for item in value]
    return value


def _made_up(kind: object, text: str) -> object:
    if kind == "string":
        return text
    return _EMPTY.get(kind if isinstance(kind, str) else kind[0])


def refused(block: Value, value: Value, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield what terraform leaves to the provider: values that it decides, and enumerations."""
    for name, attribute in block.get("attributes", {}).items():
        given = value.get(name)
        if attribute.get("computed") and not attribute.get("optional") and given is not None:
            yield (*path, name), f'"{name}" is decided by the provider and cannot be set'
        if found := _ENUM.search(attribute.get("description", "")):
            yield from _not_among(json.loads(found[1]), given, (*path, name))
    for name, inner in block.get("block_types", {}).items():
        for place, item in enumerate(_items(value.get(name))):
            step = (name, place) if inner["nesting_mode"] == "list" else (name,)
            yield from refused(inner["block"], item, (*path, *step))


def _not_among(choices: list[str], given: object, path: Path) -> Iterator[tuple[Path, str]]:
    for item in given if isinstance(given, list) else [given]:
        if isinstance(item, str) and item and item not in choices:
            yield path, f"expected {path[-1]} to be one of {choices}, got {item}"


def _items(value: object) -> list[Value]:
    return [item for item in (value if isinstance(value, list) else [value]) if _is_block(item)]


def _is_block(item: object) -> bool:
    return isinstance(item, dict)
