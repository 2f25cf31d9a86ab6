"""What a call's request headers say."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from hpack import Decoder, HPACKError, OversizedHeaderListError
from hpack.table import HeaderTable

from injector.emulator.transport.http2 import MAX_HEADER_BYTES, Broken, Fault

_MOST_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class Head:
    """A call's method, its metadata, and the HTTP status that refuses it: 0 if none does."""

    method: str
    metadata: Mapping[str, str]
    refused: int = 0


class HeadReader:
    """Decodes the header blocks of one connection, in their order.

    A client repeats itself: as long as a block leaves the compression's table as it was, the
    same bytes mean the same headers again. Remembering what they meant makes a call ten times
    cheaper, and any change of the table forgets all.
    """

    def __init__(self) -> None:
        self._decoder = Decoder(MAX_HEADER_BYTES)
        self._table = self._decoder.header_table = _WatchedTable()
        self._known: dict[bytes, Head] = {}

    def read(self, block: bytes) -> Head:
        """Return what a whole header block says."""
        return self._known.get(block) or self._decode(block)

    def _decode(self, block: bytes) -> Head:
        self._table.changed = False
        try:
            head = _head([(bytes(k), bytes(v)) for k, v in self._decoder.decode(block, raw=True)])
        except OversizedHeaderListError as error:
            raise Broken(Fault.ENHANCE_YOUR_CALM, str(error)) from error
        except (HPACKError, IndexError) as error:
            raise Broken(Fault.COMPRESSION_ERROR, str(error)) from error
        if self._table.changed or _resizes(block) or len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        else:
            self._known[block] = head
        return head


class _WatchedTable(HeaderTable):
    """Tells whether a block has changed it."""

    changed = False

    def add(self, name: bytes, value: bytes) -> None:
        self.changed = True
        super().add(name, value)


def _resizes(block: bytes) -> bool:
    """Tell whether a block begins with a change of the table's size (RFC 7541, 6.3)."""
    return block[:1] != b"" and block[0] & 0xE0 == 0x20


def _head(fields: list[tuple[bytes, bytes]]) -> Head:
    """Sort the fields: what HTTP needs, and what is the call's metadata."""
    text = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
    metadata = {name: value for name, value in text.items() if not name.startswith(":")}
    return Head(text.get(":path", ""), MappingProxyType(metadata), _refused(text))


def _refused(text: Mapping[str, str]) -> int:
    """Return the HTTP status for what is no gRPC call, as its specification says."""
    if text.get(":method") != "POST" or not text.get(":path", "").startswith("/"):
        return 405 if text.get(":method") else 400
    if not text.get("content-type", "").startswith("application/grpc"):
        return 415
    return 0
