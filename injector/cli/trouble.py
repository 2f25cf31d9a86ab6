"""How a person writes what goes wrong in a simulation: spans, shares, durations, counts."""

import re
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

import click
from pydantic import TypeAdapter, ValidationError

from injector.errors import Misused
from injector.manifest.fields import Seconds
from injector.simulation import Burst, Slowness, Span

Value = TypeVar("Value")

_SECONDS: TypeAdapter[float] = TypeAdapter(Seconds)
_COUNT = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)([kMG]?)")
_UNITS = {"": 1, "k": 1000, "M": 1_000_000, "G": 1_000_000_000}


def written(read: Callable[[str], Value]) -> Callable[[str], Value]:
    """Make a reader the type of an option: what it finds wrong becomes a wrong use."""

    @wraps(read)
    def convert(text: str) -> Value:
        try:
            return read(text)
        except (Misused, ValueError) as error:
            raise click.BadParameter(f"{text!r}: {error}") from error

    return convert


@written
def count_of(text: str) -> int:
    """Read a count: 28000, 1e9, 10M."""
    found = _COUNT.fullmatch(text.replace("_", "").replace(",", ""))
    if not found:
        raise ValueError("write a count such as 28000, 10M or 1e9")
    return round(float(found[1]) * _UNITS[found[2]])


@written
def seconds_of(text: str) -> float:
    """Read a duration: 90s, 10m, 1h30m, or a bare number of seconds."""
    try:
        return float(text) if text.replace(".", "", 1).isdigit() else _SECONDS.validate_python(text)
    except ValidationError as error:
        raise ValueError(error.errors()[0]["msg"]) from error


@written
def span_of(text: str) -> Span:
    """Read a span of the job's time: 20m-30m."""
    start, dash, end = text.partition("-")
    if not dash:
        raise ValueError("write a span of the job's time such as 20m-30m")
    return Span(seconds_of(start), seconds_of(end))


@written
def burst_of(text: str) -> Burst:
    """Read a burst of faults: 20m-30m:20% or 20m-30m:20%:RESOURCE_EXHAUSTED."""
    parts = text.split(":")
    if len(parts) not in (2, 3):
        raise ValueError("write a span, a share and perhaps a code such as 20m-30m:20%:UNAVAILABLE")
    return Burst(span_of(parts[0]), _share(parts[1]), *parts[2:])


@written
def slowness_of(text: str) -> Slowness:
    """Read a spell of slow creates: 20m-30m:1%:2s."""
    parts = text.split(":")
    if len(parts) != 3:
        raise ValueError("write a span, a share and a duration such as 20m-30m:1%:2s")
    return Slowness(span_of(parts[0]), _share(parts[1]), seconds_of(parts[2]))


def _share(text: str) -> float:
    if not text.endswith("%"):
        raise ValueError("write a share such as 20%")
    return float(text.removesuffix("%")) / 100
