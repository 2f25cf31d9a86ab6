"""Values that filters compare: texts, numbers, spans and times."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from injector.emulator.api.refusals import invalid

Value = float | str
Reader = Callable[[object], list[Value]]


def read_value(text: str) -> Value:
    """Return a text as the number it stands for, if it is one, a span or a time."""
    for read in (float, _span, _time):
        try:
            return read(text)
        except ValueError:
            continue
    return text.casefold()


def at_path(path: tuple[str, ...]) -> Reader:
    """Return what reads a tree's values at a path: several if a field repeats, none if unset."""
    return lambda tree: list(_leaves(tree, path))


def has(value: Value, wanted: Value) -> bool:
    """Tell whether a value is, or as a text contains, what is wanted; `*` is anything."""
    if wanted == "*":
        return True
    if isinstance(value, str) and isinstance(wanted, str):
        return wanted in value
    return value == wanted


def matcher(pattern: str) -> Callable[[Value], bool]:
    """Return what tells whether a regular expression is found in a value."""
    try:
        find = re.compile(pattern, re.IGNORECASE).search
    except re.error as error:
        raise invalid(f"Invalid filter: '{pattern}' is no regular expression.") from error
    return lambda value: find(_text(value)) is not None


def _leaves(tree: object, path: tuple[str, ...]) -> Iterator[Value]:
    if isinstance(tree, Mapping):
        if path and path[0] in tree:
            yield from _leaves(tree[path[0]], path[1:])
        elif not path:
            yield ""  # a message that is there
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        for item in tree:
            yield from _leaves(item, path)
    else:
        yield read_value(str(tree))


def _text(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _span(text: str) -> float:
    if not text.endswith("s"):
        raise ValueError(text)
    return float(text[:-1])


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
