"""What to read, and how far to go along with what is wrong in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from injector.manifest.schema import Manifest

_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of memory and patience; all sizes in bytes.

    `max_bytes` is for what comes out of a compressed file, so that a small one cannot grow
    without end. A longer line than `max_line_bytes` is a bad record: a task holds 1 MiB at
    most. `kept_rejects` of the bad records are listed; all are counted.
    """

    max_bytes: int = _MIB * _MIB
    max_line_bytes: int = 2 * _MIB
    part_bytes: int = 256 * _MIB
    block_bytes: int = _MIB
    kept_rejects: int = 1000


@dataclass(frozen=True, slots=True)
class Source:
    """Where the records are, and how they are written.

    `location` is a path, a glob, a URL that fsspec knows, or `-` for standard input. Without
    a `format` the name's suffix decides, and without an `encoding` it is UTF-8. `types` are
    those of the CSV columns that are not text. With `on_error="stop"` the first bad record
    ends the staging. `in_place=False` copies even what could be read where it lies.
    """

    location: str
    format: str | None = None
    encoding: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    on_error: Literal["skip", "stop"] = "skip"
    allow_empty: bool = False
    in_place: bool = True
    limits: Limits = field(default_factory=Limits)


def source_of(manifest: Manifest) -> Source:
    """Return the source that the manifest asks for; its path is taken from the working folder."""
    return Source(manifest.records, manifest.format, manifest.encoding, manifest.types)
