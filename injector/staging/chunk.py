"""A chunk of the source, as whoever fans it out sees it."""

from dataclasses import dataclass

from injector.manifest.record import Record


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that cannot become a task, and why; it keeps its place in its chunk.

    `file` names the source file; of a staging that is under way only where there are several.
    """

    ordinal: int
    line: int
    reason: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Up to 100 consecutive records, good and bad, so that chunks add up to all records."""

    number: int
    records: tuple[Record | Bad, ...]
