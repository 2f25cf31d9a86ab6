"""Parquet: a record in each row, its values as JSON has them; needs the `parquet` extra."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import BinaryIO

import orjson
import pyarrow as pa
from pyarrow.parquet import ParquetFile

from injector.errors import Misused
from injector.staging.columns import check_columns
from injector.staging.item import Item

_BATCH = 1000


def read_parquet(
    stream: BinaryIO, *, needed: Sequence[str], name: str, file: int = 0
) -> Iterator[Item]:
    """Read the rows as JSON objects; a row's line is its number, from 1.

    Decimals keep their digits and times are RFC 3339. Raises Misused for a column whose type
    JSON has no form for, such as binary. A row that holds NaN, infinity, or a time outside the
    years 1 to 9999 or with nanoseconds is bad.
    """
    try:
        table = ParquetFile(stream, buffer_size=1 << 20, pre_buffer=False)
        names = _checked_names(table.schema_arrow, needed=needed, name=name)
        for number, row in enumerate(_rows(table), 1):
            yield file, number, _to_json(dict(zip(names, row, strict=True))), 0
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Misused(f"{name}: cannot be read as Parquet: {error}") from error


def _rows(table: ParquetFile) -> Iterator[tuple[object, ...]]:
    for batch in table.iter_batches(batch_size=_BATCH):
        yield from zip(*map(_values, batch.columns), strict=True)


def _checked_names(schema: pa.Schema, *, needed: Sequence[str], name: str) -> list[str]:
    names: list[str] = list(schema.names)
    check_columns(names, needed=needed, types=(), place=name)
    for field in schema:
        if not _has_json_form(field.type):
            raise Misused(f"{name}: column {field.name!r} is {field.type}, which JSON cannot hold")
    return names


def _has_json_form(kind: pa.DataType) -> bool:
    types = pa.types
    if types.is_struct(kind):
        return all(_has_json_form(field.type) for field in kind)
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _has_json_form(kind.value_type)
    if types.is_dictionary(kind):
        return _has_json_form(kind.value_type)
    scalars = (
        types.is_boolean, types.is_integer, types.is_floating, types.is_decimal,
        types.is_string, types.is_large_string, types.is_date, types.is_time,
        types.is_timestamp, types.is_null,
    )  # fmt: skip
    return any(test(kind) for test in scalars)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A value that Python has no form for."""

    reason: str


def _values(column: pa.Array) -> list[object]:
    """Return the column's values; nanoseconds become microseconds where none is lost."""
    try:
        values: list[object] = _without_nanoseconds(column).to_pylist()
    except (ValueError, OverflowError):
        return [_value(column[index : index + 1]) for index in range(len(column))]
    return values


def _value(one: pa.Array) -> object:
    try:
        return _without_nanoseconds(one)[0].as_py()
    except (ValueError, OverflowError) as error:
        return Unreadable(str(error))


def _without_nanoseconds(column: pa.Array) -> pa.Array:
    kind = column.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return column.cast(pa.timestamp("us", tz=kind.tz))
    return column


def _to_json(record: dict[str, object]) -> bytes | str:
    for name, value in record.items():
        if isinstance(value, Unreadable):
            return f"column {name!r} cannot be read: {value.reason}"
        if not _is_finite(value):
            return f"column {name!r} is NaN or infinite, which JSON cannot hold"
    return orjson.dumps(record, default=_exact)


def _is_finite(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list) or all(map(_is_finite, value))


def _exact(value: object) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(format(value, "f"))
    raise TypeError(f"no JSON form for {type(value).__name__}")
