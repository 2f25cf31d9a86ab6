"""The chunk index: 24 bytes for each chunk, so that one is found without reading another."""

import struct
from dataclasses import dataclass

ENTRY = struct.Struct("<QQIHH")


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a chunk is: its bytes in a part, the first physical line, and how many records."""

    offset: int
    line: int
    length: int
    part: int
    records: int

    def pack(self) -> bytes:
        """Return the entry as it is in the index."""
        return ENTRY.pack(self.offset, self.line, self.length, self.part, self.records)


def unpack_entry(block: bytes, number: int) -> Entry:
    """Return the block's entry of that number."""
    return Entry(*ENTRY.unpack_from(block, number * ENTRY.size))
