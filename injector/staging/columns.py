"""What a table's columns are called, and how their cells become JSON."""

import re
from collections.abc import Callable, Collection, Sequence

import orjson

from injector.errors import Misused, Rejected
from injector.staging.objects import value_fault

Cell = bool | orjson.Fragment | None
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
_SHOWN = 60
_DATUM = re.compile(
    rf"{_NUMBER.pattern}|\d{{4}}-\d\d-\d\d.*|[^@\s]+@[^@\s]+\.\w+|https?://.*|true|false",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(19|20)[0-9]{2}")
_BOOLEANS = {"true": True, "false": False}


def check_columns(
    names: Sequence[str], *, needed: Sequence[str], types: Collection[str], place: str
) -> None:
    """Refuse columns that would lose one of them, or lack one that the manifest names."""
    if "" in names:
        raise Misused(f"{place}: column {names.index('') + 1} has no name; give it one")
    _check_each_once(names, place=place)
    for column in (*needed, *types):
        if column not in names:
            raise Misused(
                f"{place}: has no column {column!r}, which the manifest names;"
                f" the columns are {', '.join(names)}"
            )


def _check_each_once(names: Sequence[str], *, place: str) -> None:
    """Hold names that differ only by case for one, as many a target does."""
    places: dict[str, list[int]] = {}
    for position, column in enumerate(names):
        places.setdefault(column.casefold(), []).append(position)
    if same := next((found for found in places.values() if len(found) > 1), None):
        named = " and ".join(f"{names[position]!r} (column {position + 1})" for position in same)
        raise Misused(f"{place}: {named} would be one field; give each column a name of its own")


def check_header_is_there(names: Sequence[str], *, place: str) -> None:
    """Refuse a first row that holds a number, date, address and the like: it is a record.

    A year may well be what a column is called.
    """
    for position, column in enumerate(names, 1):
        if _DATUM.fullmatch(column) and not _YEAR.fullmatch(column):
            raise Misused(
                f"{place}: column {position} would be called {column!r};"
                " the first line must name the columns"
            )


def cell_reader(kind: str) -> Callable[[str], Cell] | None:
    """Make the function that turns a cell's text into a JSON value; None leaves it text.

    Numbers keep their digits as written. An empty cell is null. The function raises Rejected.
    """
    readers = {"integer": _integer, "number": _number, "boolean": _boolean, "json": _json}
    return readers.get(kind)


def _integer(text: str) -> Cell:
    if not text:
        return None
    if _INTEGER.fullmatch(text) and _parses(text):
        return orjson.Fragment(text)
    raise Rejected(f"{_shown(text)} is not an integer such as 17")


def _number(text: str) -> Cell:
    if not text:
        return None
    if _NUMBER.fullmatch(text) and _parses(text):
        return orjson.Fragment(text)
    raise Rejected(f"{_shown(text)} is not a finite number such as 17 or 1.5")


def _boolean(text: str) -> Cell:
    if not text:
        return None
    try:
        return _BOOLEANS[text.lower()]
    except KeyError as error:
        raise Rejected(f"{_shown(text)} is neither true nor false") from error


def _json(text: str) -> Cell:
    """Take a JSON value as it is, but on one line: only its white space can hold a newline."""
    if not text:
        return None
    if fault := value_fault(text.encode()):
        raise Rejected(f"{_shown(text)} {fault}")
    return orjson.Fragment(text.replace("\r", " ").replace("\n", " "))


def _parses(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
