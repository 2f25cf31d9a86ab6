"""Reading an operation's spec as the dataclass that its kind wants."""

import math
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from injector.errors import Misused
from injector.operations.values import Fields

Spec = TypeVar("Spec")


def read_spec(fields: Fields, form: type[Spec], *, kind: str) -> Spec:
    """Read the fields; raise Misused that names the one that is wrong, missing or unknown."""
    known = form.__dataclass_fields__.keys()  # type: ignore[attr-defined]
    if strange := [name for name in fields if name not in known]:
        raise Misused(f"{kind} has no field {strange[0]!r}; it has {', '.join(known)}")
    try:
        return msgspec.convert(fields, form)
    except msgspec.ValidationError as error:
        raise Misused(f"{kind}: {str(error).replace('`$.', '`')}") from error


def write_spec(spec: object) -> Fields:
    """Write the spec down whole, as JSON holds it."""
    fields: Fields = msgspec.json.decode(msgspec.json.encode(spec))
    return fields


def check_rate(kind: str, name: str, rate: float | None) -> None:
    """Raise Misused for what is no rate; None is left to others."""
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise Misused(f"{kind}: {name} {rate:g} is not a rate; give a number above 0, such as 7.5")


def with_rates(fields: Fields, form: type[object], *, kind: str, rates: Sequence[str]) -> Fields:
    """Return the spec whole; raise Misused where one of its rates is none."""
    spec = read_spec(fields, form, kind=kind)
    for name in rates:
        check_rate(kind, name, getattr(spec, name))
    return write_spec(spec)
