"""Write chunks: the normalised records in parts, or, for a file read in place, the index alone."""

from collections.abc import Sequence
from typing import BinaryIO, Protocol

from injector.errors import Misused
from injector.staging.folder import Folder
from injector.staging.index import Entry
from injector.staging.item import Item
from injector.staging.seal import INDEX

_MAX_LENGTH = (1 << 32) - 1
_MAX_PARTS = 1 << 16
_MAX_REASON = 500


class ChunkWriter(Protocol):
    """Takes the source's records, up to 100 at a time."""

    def write(self, items: Sequence[Item]) -> None:
        """Write the next chunk."""

    def close(self) -> None:
        """Make all that was written durable."""


def part_name(number: int) -> str:
    """Name a part of the chunk store."""
    return f"part-{number:05d}"


class CopyingWriter:
    """Copies records to parts of bounded size, each record's line before its JSON.

    A line is LINE, a tab and JSON, or an exclamation mark and the reason for a bad record;
    LINE is FILE:LINE where the source has several files.
    """

    def __init__(self, folder: Folder, *, part_bytes: int, several: bool) -> None:
        self._folder = folder
        self._part_bytes = part_bytes
        self._several = several
        self._index = folder.create(INDEX)
        self._part: BinaryIO | None = None
        self._number = -1
        self._offset = 0

    def write(self, items: Sequence[Item]) -> None:
        """Write the next chunk; it lies in one part as a whole."""
        chunk = b"".join(map(_line_of_several if self._several else _line, items))
        part = self._part_with_room()
        length = _checked_length(len(chunk), line=items[0][1])
        entry = Entry(self._offset, items[0][1], length, self._number, len(items))
        self._folder.write(part, chunk)
        self._folder.write(self._index, entry.pack())
        self._offset += length

    def close(self) -> None:
        """Finish the last part and the index."""
        if self._part:
            self._folder.close(self._part)
        self._folder.close(self._index)

    def _part_with_room(self) -> BinaryIO:
        if self._part and self._offset < self._part_bytes:
            return self._part
        if self._part:
            self._folder.close(self._part)
        self._number, self._offset = self._number + 1, 0
        if self._number == _MAX_PARTS:
            raise Misused(f"{self._folder.url}: needs over {_MAX_PARTS:,} parts; raise part_bytes")
        self._part = self._folder.create(part_name(self._number))
        return self._part


class IndexingWriter:
    """Writes where the chunks of a file lie that can be read in place."""

    def __init__(self, folder: Folder, *, start: int) -> None:
        self._folder = folder
        self._index = folder.create(INDEX)
        self._offset = start
        self._line = 1

    def write(self, items: Sequence[Item]) -> None:
        """Note the next chunk: from where the last one ended to its own last record's end."""
        _, last_line, _, end = items[-1]
        length = _checked_length(end - self._offset, line=self._line)
        entry = Entry(self._offset, self._line, length, 0, len(items))
        self._folder.write(self._index, entry.pack())
        self._offset, self._line = end, last_line + 1

    def close(self) -> None:
        """Finish the index."""
        self._folder.close(self._index)


def _line(item: Item) -> bytes:
    _, line, body, _ = item
    if isinstance(body, bytes):
        return b"%d\t%b\n" % (line, body)
    return b"%d\t!%b\n" % (line, _one_line(body))


def _line_of_several(item: Item) -> bytes:
    return b"%d:%b" % (item[0], _line(item))


def _one_line(reason: str) -> bytes:
    return " ".join(reason.split())[:_MAX_REASON].encode(errors="replace")


def _checked_length(length: int, *, line: int) -> int:
    if length > _MAX_LENGTH:
        raise Misused(f"line {line}: the 100 records from here on have over 4 GiB")
    return length
