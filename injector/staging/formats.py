"""Read a file's records, whatever it is written in and packed in."""

import re
import tempfile
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import PurePath

from injector.errors import Misused
from injector.staging.compression import cap, peek, unpack
from injector.staging.delimited import Columns, read_csv
from injector.staging.files import File, read_blocks, speaking_of
from injector.staging.item import Blank, Item, untold
from injector.staging.jsonl import read_jsonl
from injector.staging.source import Source
from injector.staging.text import decode, to_utf8

_PACKINGS = {".gz", ".gzip", ".zst", ".zstd"}
_SUFFIXES: dict[str, str] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl",
    ".csv": "csv", ".tsv": "csv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_PARQUET = b"PAR1"
_MARKS: tuple[tuple[bytes, str], ...] = ((_PARQUET, "parquet"), (b"{", "jsonl"))
_SAY_FORMAT = "`format: jsonl`, `csv` or `parquet`"
_JSON_ARRAY = re.compile(rb"(\xef\xbb\xbf)?\s*\[\s*\{")
_HEAD = 64
_FOREIGN = (
    (b"PK\x03\x04", "a zip archive, as .xlsx files are; export it as CSV, or unzip it"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file; export it as CSV"),
    (b"BZh", "packed by bzip2; unpack it, or pack it by gzip or zstd"),
    (b"\xfd7zXZ", "packed by xz; unpack it, or pack it by gzip or zstd"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it"),
    (b"\x04\x22\x4d\x18", "packed by lz4; unpack it, or pack it by gzip or zstd"),
    (b"%PDF", "a PDF; the records have to be CSV, JSONL or Parquet"),
    (b"Obj\x01", "Avro; the records have to be CSV, JSONL or Parquet"),
    (b"SQLite format 3\0", "a SQLite database; export the records as CSV or JSONL"),
)


def format_of(file: File, head: bytes, declared: str | None) -> str:
    """Return the format that was declared, or that the name or else the first bytes tell.

    Raises Misused when these bytes are none of ours.
    """
    for mark, what in _FOREIGN:
        if head.startswith(mark):
            raise Misused(f"{file.name}: is {what}")
    name = file.name.partition("?")[0] if "://" in file.name else file.name
    suffixes = [suffix.lower() for suffix in PurePath(name).suffixes]
    told = next(
        (_SUFFIXES.get(suffix) for suffix in suffixes[::-1] if suffix not in _PACKINGS), None
    )
    found = declared or told or next((kind for mark, kind in _MARKS if head.startswith(mark)), None)
    if not found:
        raise Misused(f"{file.name}: has no suffix that tells its format; say {_SAY_FORMAT}")
    if found != "parquet" and head.startswith(_PARQUET):
        raise Misused(f"{file.name}: is Parquet, not {found}; say `format: parquet`")
    return found


def read_records(  # noqa: PLR0913  (what to read, and who is told of it)
    file: File,
    source: Source,
    *,
    needed: Sequence[str],
    number: int,
    each: Callable[[bytes], object],
    blank: Blank = untold,
) -> Iterator[Item]:
    """Read the file's records, bad ones too; `each` gets every block of the file as it is.

    `blank` is told of each line that is passed over since nothing is on it.
    """
    name, limits = file.name, source.limits
    blocks = read_blocks(file, limits.block_bytes, each=each)
    blocks = cap(unpack(blocks, name=name), limits.max_bytes, name=name)
    head, blocks = peek(blocks, _HEAD)
    kind = _checked_format(file, head, source)
    if kind == "parquet":
        return _parquet(file, blocks, needed=needed, number=number)
    if kind == "csv":
        texts = decode(blocks, encoding=source.encoding, name=name)
        columns = Columns(needed, source.types)
        limit = limits.max_line_bytes
        return read_csv(texts, columns, limit=limit, name=name, file=number, blank=blank)
    start = len(BOM_UTF8) if head.startswith(BOM_UTF8) else 0
    utf8 = to_utf8(blocks, encoding=source.encoding, name=name)
    limit = limits.max_line_bytes
    return read_jsonl(utf8, limit=limit, file=number, offset=start, blank=blank)


def _checked_format(file: File, head: bytes, source: Source) -> str:
    kind = format_of(file, head, source.format)
    if source.types and kind != "csv":
        raise Misused(f"{file.name}: `types` are for the columns of a CSV, and this is {kind}")
    if kind == "jsonl" and _JSON_ARRAY.match(head):
        raise Misused(f"{file.name}: is one JSON array; write one object a line (jq -c .[])")
    return kind


def _parquet(
    file: File, blocks: Iterator[bytes], *, needed: Sequence[str], number: int
) -> Iterator[Item]:
    """Read Parquet from a copy, since it has to be read back and forth."""
    try:
        read_parquet = import_module("injector.staging.parquet").read_parquet
    except ImportError as error:
        raise Misused(
            f"{file.name}: reading Parquet needs cloud-tasks-injector[parquet]"
        ) from error
    with tempfile.TemporaryFile() as copy:
        for block in blocks:
            with speaking_of(f"a copy of {file.name}"):
                copy.write(block)
        copy.seek(0)
        yield from read_parquet(copy, needed=needed, name=file.name, file=number)
