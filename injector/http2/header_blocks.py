"""Header blocks (HPACK, RFC 7541): reading them, and writing fields by hand."""

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from hpack import Decoder, HPACKError, OversizedHeaderListError
from hpack.hpack import encode_integer
from hpack.table import HeaderTable

from injector.http2.frames import MAX_HEADER_BYTES, Broken, Fault

T = TypeVar("T")

Fields = Sequence[tuple[bytes, bytes]]

_MOST_REMEMBERED = 4096


def field(name: str, value: str) -> bytes:
    """Return one header field as a literal that is not indexed.

    It means the same whatever was sent before, and changes nothing for what comes after.
    """
    return b"\x00" + _string(name) + _string(value)


def _string(text: str) -> bytes:
    raw = text.encode("latin-1")
    return bytes(encode_integer(len(raw), 7)) + raw


class BlockReader(Generic[T]):
    """Decodes the header blocks of one connection, in their order; `mean` says what fields mean.

    A peer repeats itself: as long as a block leaves the compression's table as it was, the
    same bytes mean the same headers again. Remembering what they meant makes a call ten times
    cheaper, and any change of the table forgets all.
    """

    def __init__(self, mean: Callable[[Fields], T]) -> None:
        self._mean = mean
        self._decoder = Decoder(MAX_HEADER_BYTES)
        self._table = self._decoder.header_table = WatchedTable()
        self._known: dict[bytes, T] = {}

    def read(self, block: bytes) -> T:
        """Return what a whole header block says; raises Broken."""
        return self._known.get(block) or self._decode(block)

    def _decode(self, block: bytes) -> T:
        self._table.changed = False
        try:
            fields = self._decoder.decode(block, raw=True)
        except OversizedHeaderListError as error:
            raise Broken(Fault.ENHANCE_YOUR_CALM, str(error)) from error
        except (HPACKError, IndexError) as error:
            raise Broken(Fault.COMPRESSION_ERROR, str(error)) from error
        meant = self._mean([(bytes(name), bytes(value)) for name, value in fields])
        if self._table.changed or _resizes(block) or len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        else:
            self._known[block] = meant
        return meant


class WatchedTable(HeaderTable):
    """Tells whether a block has changed it."""

    changed = False

    def add(self, name: bytes, value: bytes) -> None:
        """Take a field into the table."""
        self.changed = True
        super().add(name, value)


def _resizes(block: bytes) -> bool:
    """Tell whether a block begins with a change of the table's size (RFC 7541, 6.3)."""
    return block[:1] != b"" and block[0] & 0xE0 == 0x20
