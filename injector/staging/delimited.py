"""CSV: a header, then a record in each row; every cell is text unless its type is declared."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import chain

import orjson

from injector.errors import Misused, Rejected
from injector.staging.columns import Cell, cell_reader, check_columns, check_header_is_there
from injector.staging.item import Blank, Item, untold

Row = list[str]
_DELIMITERS = (",", "\t", ";", "|")
_QUOTED = re.compile(r'"[^"]*"?')
_NO_BOUND = (1 << 31) - 1


@dataclass(frozen=True, slots=True)
class Columns:
    """What the manifest says of a table: the columns it uses, and the types of some."""

    needed: Sequence[str]
    types: Mapping[str, str]


def read_csv(  # noqa: PLR0913  (what to read, its bound, and who is told)
    texts: Iterator[str],
    columns: Columns,
    *,
    limit: int,
    name: str,
    file: int = 0,
    blank: Blank = untold,
) -> Iterator[Item]:
    """Read the records, bad ones too, as JSON objects in the header's order.

    Raises Misused for a header that would lose something, and for a quote that makes it
    unknowable where records end.
    """
    lines = _Lines(texts, limit=limit, name=name)
    rows = _rows(lines, name=name, blank=blank)
    header = next(rows, None)
    if header:
        to_json = _row_to_json(_names(header, columns, name=name), columns.types)
        for line, row in rows:
            if body := row if isinstance(row, str) else to_json(row):
                yield file, line, body, 0
            else:
                blank()


class _Lines:
    """The text in pieces that end where a line ends, for the csv module.

    `row_start` is the line on which the next row begins, kept by whoever reads the rows: when
    it stays while more than `limit` characters go by, a row has no end. `odd` tells that a
    NUL or a byte order mark has come by, so that rows need a closer look.
    """

    def __init__(self, texts: Iterator[str], *, limit: int, name: str) -> None:
        self._texts = texts
        self._limit = limit
        self._name = name
        self.row_start = 1
        self.odd = False

    def __iter__(self) -> Iterator[StringIO]:
        held, open_size = "", 0
        for text in self._texts:
            held += text
            end = max(held.rfind("\n"), held.rfind("\r", 0, -1)) + 1
            start = self.row_start
            if end:
                yield self._piece(held[:end])
                held = held[end:]
            open_size = open_size + end if start == self.row_start else 0
            if open_size + len(held) > self._limit:
                raise self._endless()
        if held:
            yield self._piece(held)

    def _piece(self, text: str) -> StringIO:
        self.odd = self.odd or "\0" in text or "\ufeff" in text
        return StringIO(text, newline="")

    def _endless(self) -> Misused:
        return Misused(
            f"{self._name} line {self.row_start}: this record does not end within"
            f" {self._limit:,} characters; a quote may not be closed"
        )


def _rows(lines: _Lines, *, name: str, blank: Blank) -> Iterator[tuple[int, Row | str]]:
    """Yield each row, or why it is none, with the line on which it begins."""
    csv.field_size_limit(_NO_BOUND)  # the lines have a bound of their own, and it is not global
    pieces = iter(lines)
    first = next(pieces, StringIO())
    reader = csv.reader(
        chain.from_iterable(chain([first], pieces)), delimiter=_delimiter(first), strict=True
    )
    end, reading = 0, True
    while reading:
        try:
            for row in reader:
                start, end = end + 1, reader.line_num
                lines.row_start = end + 1
                if row:
                    yield start, (lines.odd and _oddity(row)) or row
                else:
                    blank()
            reading = False
        except csv.Error as error:
            start, end = end + 1, reader.line_num
            lines.row_start = end + 1
            yield start, _quote_fault(error, start, end, name=name)


def _delimiter(first: StringIO) -> str:
    """Tell the delimiter from the header; a comma wins over all others."""
    lines = first.getvalue().lstrip("\r\n").splitlines()
    header = _QUOTED.sub("", lines[0]) if lines else ""
    return next((mark for mark in _DELIMITERS if mark in header), ",")


def _oddity(row: Row) -> str | None:
    if row[0].startswith("\ufeff"):
        return "starts with a byte order mark, as where files were joined"
    columns = (place for place, cell in enumerate(row, 1) if "\0" in cell)
    return next((f"column {column} holds a NUL byte" for column in columns), None)


def _quote_fault(error: csv.Error, start: int, end: int, *, name: str) -> str:
    """Describe a bad quote; one that swallowed further lines leaves no way to tell records."""
    if start == end:
        return f"is not CSV: {error}; quotes within a quoted cell are doubled"
    raise Misused(
        f"{name} line {start}: a quote that this record opens is not closed"
        f" (line {end}: {error}); close it, and double the quotes within a cell"
    ) from error


def _names(header: tuple[int, Row | str], columns: Columns, *, name: str) -> Row:
    line, row = header
    place = f"{name} line {line}"
    if isinstance(row, str):
        raise Misused(f"{place}: the header {row}")
    names = [cell.strip() for cell in row]
    check_header_is_there(names, place=place)
    check_columns(names, needed=columns.needed, types=columns.types, place=place)
    return names


def _is_blank(row: Row) -> bool:
    """Tell a line of nothing but spaces, which in a table of one column is a value."""
    return len(row) == 1 and row[0].isspace()


def _row_to_json(names: Row, types: Mapping[str, str]) -> Callable[[Row], bytes | str]:
    readers = [
        (index, cell_reader(types[name])) for index, name in enumerate(names) if name in types
    ]
    typed = [(index, read) for index, read in readers if read]
    width, dumps = len(names), orjson.dumps

    def to_json(row: Row) -> bytes | str:
        if len(row) != width:
            return (
                "" if _is_blank(row) else f"the cells are {len(row)}, not {width} as in the header"
            )
        record: dict[str, str | Cell] = dict(zip(names, row, strict=True))
        for index, read in typed:
            try:
                record[names[index]] = read(row[index])
            except Rejected as error:
                return f"column {names[index]!r}: {error}"
        return dumps(record)

    return to_json
