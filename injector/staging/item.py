"""What a source gives, one by one: a plain tuple, since there may be billions."""

from collections.abc import Callable
from typing import TypeAlias

Item: TypeAlias = tuple[int, int, bytes | str, int]
"""File by its number, physical line, a JSON object or the reason why there is none, and the
offset at which the record's line ends (0 if the source is not read in place)."""

Blank: TypeAlias = Callable[[], object]
"""Told of each line that is passed over because nothing is on it."""


def untold() -> None:
    """Let a blank line go by."""
