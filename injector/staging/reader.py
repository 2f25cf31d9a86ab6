"""Read chunks back, any of them in any order, by many threads at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, count, islice, repeat
from struct import Struct

from injector.errors import Conflict, NotFound
from injector.manifest.record import Record
from injector.pacing.ramp import CHUNK
from injector.staging.chunk import Bad, Chunk
from injector.staging.files import File, find_files
from injector.staging.folder import Folder
from injector.staging.index import ENTRY, Entry, unpack_entry
from injector.staging.item import Item
from injector.staging.jsonl import bare_lines, read_jsonl
from injector.staging.pin import Pin, Pinned
from injector.staging.reach import Reach
from injector.staging.seal import INDEX, Seal, Staged, read_seal
from injector.staging.writer import part_name

ORIGINS = "origins"
"""The file that has each record's place in the first source, 8 bytes each, little-endian."""

_BLOCK_ENTRIES = 4096
_BLOCKS = 16
_READ = 4 << 20
_PLACE = Struct("<Q")


def read_staged(store_url: str, reach: Reach | None = None) -> Staged:
    """Return what a whole staging says of itself.

    Raises NotFound while it is not whole, and Misused when its records are out of reach, where
    a reach is given.
    """
    return _within(reach, read_seal(Folder.at(store_url))).staged


class ChunkReader:
    """The chunks of one staging.

    A chunk takes one ranged read, and one more for each 4096 chunks of the index, of which
    the last few are kept. Raises NotFound for a staging or a chunk that is not there, Conflict
    when a file that is read in place is no longer what was staged, Misused when it is out of
    `reach`, and Retryable when the storage fails. Without a reach any file is read.
    """

    def __init__(self, store_url: str, reach: Reach | None = None) -> None:
        self._folder = Folder.at(store_url)
        self._seal = _within(reach, read_seal(self._folder))
        self._index_block = lru_cache(maxsize=_BLOCKS)(self._read_index_block)
        pin = self._seal.pin
        self._items = _in_place(pin, self._seal) if pin else self._copied

    @property
    def staged(self) -> Staged:
        """What was staged."""
        return self._seal.staged

    @property
    def files(self) -> tuple[str, ...]:
        """The names of the source's files if there are several."""
        return self._seal.files

    @property
    def file(self) -> str:
        """The name of the source's file if there is one; empty in stagings of earlier versions."""
        return self._seal.file

    def read(self, number: int) -> Chunk:
        """Return the chunk of that number, from 0."""
        entry = self._entry(number)
        items = self._items(entry)
        if len(items) != entry.records:
            raise Conflict(
                f"{self._folder.url}: chunk {number} has {len(items)} records where"
                f" {entry.records} were staged; stage the source again under another job id"
            )
        first = number * CHUNK
        origins = self._origins(first, first + len(items)) if self._seal.origins else repeat(-1)
        files = self._seal.files or (self.file,)
        return Chunk(number, tuple(_records(items, first, origins, files)))

    def _origins(self, first: int, past: int) -> Iterable[int]:
        """Return the places in the first source of records that are sent again."""
        content = self._folder.read(ORIGINS, first * _PLACE.size, past * _PLACE.size)
        return [origin for (origin,) in _PLACE.iter_unpack(content)]

    def _entry(self, number: int) -> Entry:
        if not 0 <= number < self.staged.chunks:
            raise NotFound(f"{self._folder.url}: has no chunk {number}, only {self.staged.chunks}")
        block, place = divmod(number, _BLOCK_ENTRIES)
        return unpack_entry(self._index_block(block), place)

    def _read_index_block(self, block: int) -> bytes:
        size = _BLOCK_ENTRIES * ENTRY.size
        end = min((block + 1) * size, self.staged.chunks * ENTRY.size)
        return self._folder.read(INDEX, block * size, end)

    def _copied(self, entry: Entry) -> list[Item]:
        content = self._folder.read(
            part_name(entry.part), entry.offset, entry.offset + entry.length
        )
        parse = _parse_of_several if self._seal.files else _parse
        return [parse(line) for line in content.split(b"\n")[:-1]]


def _records(
    items: Sequence[Item], first: int, origins: Iterable[int], files: Sequence[str]
) -> Iterator[Record | Bad]:
    """Give each item its number; one with a fault in place of its bytes is a bad record."""
    names, lines, bodies, _ = zip(*items, strict=True)
    if set(map(type, bodies)) == {bytes}:
        named = map(files.__getitem__, names)
        yield from map(Record, count(first), lines, bodies, named, origins)
        return
    for ordinal, (file, line, body, _), origin in zip(count(first), items, origins, strict=False):
        if isinstance(body, bytes):
            yield Record(ordinal, line, body, files[file], origin)
        else:
            yield Bad(ordinal, line, body, files[file])


def _within(reach: Reach | None, seal: Seal) -> Seal:
    if reach and seal.pin:
        reach.check(seal.pin.url)
    return seal


def _parse(line: bytes) -> Item:
    number, _, body = line.partition(b"\t")
    return 0, int(number), body[1:].decode() if body.startswith(b"!") else body, 0


def _parse_of_several(line: bytes) -> Item:
    file, _, rest = line.partition(b":")
    _, number, body, end = _parse(rest)
    return int(file), number, body, end


def _in_place(pin: Pin, seal: Seal) -> Callable[[Entry], list[Item]]:
    """Make the function that reads records where they lie.

    It looks at the pin afterwards, even if it could not read: a file that has become shorter
    is first of all another file. What was all good when it was staged is not judged again.
    """
    (file,) = find_files(pin.url)
    pinned = Pinned(pin, file)

    def read(entry: Entry) -> list[Item]:
        try:
            return _items(_slices(file, entry), entry, seal)
        finally:
            pinned.check()

    return read


def _items(slices: Iterator[bytes], entry: Entry, seal: Seal) -> list[Item]:
    first = next(slices, b"")
    bare = bare_lines(first) if not seal.staged.rejected and len(first) == entry.length else []
    if len(bare) == entry.records:
        return list(zip(repeat(0), count(entry.line), bare, repeat(0)))
    items = read_jsonl(chain((first,), slices), limit=seal.max_line_bytes, line=entry.line)
    return list(islice(items, entry.records))


def _slices(file: File, entry: Entry) -> Iterator[bytes]:
    """Read the chunk's bytes, in one go unless they are uncommonly many."""
    end = entry.offset + entry.length
    for start in range(entry.offset, end, _READ):
        yield file.read(start, min(start + _READ, end))
