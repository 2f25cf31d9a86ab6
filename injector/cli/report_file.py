"""A report's rows in a file or a bucket: as JSON lines, CSV or Parquet."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import BinaryIO

import fsspec
import msgspec

from injector.control.row import Row
from injector.errors import Misused

FORMATS = ("jsonl", "csv", "parquet")

_DECODE = msgspec.json.Decoder(Row).decode_lines
_COLUMNS = tuple(field.name for field in msgspec.structs.fields(Row))
_Sink = Callable[[bytes], int]
"""Writes a block of JSON lines, and says how many rows it had."""


def write_report(out: str, kind: str, blocks: Iterable[bytes]) -> int:
    """Write blocks of JSON lines in that format, block by block; return how many rows.

    Raises Misused where nothing can be written. What was written of a report that breaks off
    stays a temporary of the store where it has such a thing, as buckets do.
    """
    rows = 0
    with _opened(out) as stream, _sink(kind, stream) as write:
        for block in blocks:
            rows += write(block)
    return rows


@contextmanager
def _opened(out: str) -> Iterator[BinaryIO]:
    try:
        with fsspec.open(out, "wb", auto_mkdir=False) as stream:
            yield stream
    except (OSError, ImportError, ValueError) as error:
        raise Misused(f"{out}: cannot be written: {error}") from error


@contextmanager
def _sink(kind: str, stream: BinaryIO) -> Iterator[_Sink]:
    """Give the function that writes a block of rows."""
    if kind == "parquet":
        with _parquet(stream) as write:
            yield write
    elif kind == "csv":
        stream.write((",".join(_COLUMNS) + "\n").encode())
        yield lambda block: _write_csv(_DECODE(block), stream)
    else:
        yield lambda block: _write_lines(block, stream)


def _write_lines(block: bytes, stream: BinaryIO) -> int:
    stream.write(block)
    return block.count(b"\n")


def _write_csv(rows: list[Row], stream: BinaryIO) -> int:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(msgspec.structs.astuple, rows))
    stream.write(text.getvalue().encode())
    return len(rows)


@contextmanager
def _parquet(stream: BinaryIO) -> Iterator[_Sink]:
    """Write a row group for each block."""
    if find_spec("pyarrow") is None:
        raise Misused("Parquet needs pyarrow: pip install 'cloud-tasks-injector[parquet]'")
    import pyarrow as pa  # noqa: PLC0415  (an extra, and slow to load)
    from pyarrow import parquet  # noqa: PLC0415

    text = pa.dictionary(pa.int32(), pa.string())
    kinds = {"ordinal": pa.int64(), "line": pa.int64(), "file": text, "outcome": text}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in _COLUMNS])
    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:

        def write(block: bytes) -> int:
            rows = _DECODE(block)
            columns = zip(*map(msgspec.structs.astuple, rows), strict=True)
            arrays = [pa.array(each, kind.type) for each, kind in zip(columns, schema, strict=True)]
            if rows:
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            return len(rows)

        yield write
