"""Writing the headers of gRPC's requests ("gRPC over HTTP2")."""

from functools import lru_cache

from hpack import Encoder

from injector.errors import InjectorError
from injector.http2.frames import DEFAULT_TABLE_BYTES
from injector.http2.header_blocks import WatchedTable, field

Metadata = tuple[tuple[str, str], ...]

_MOST_REMEMBERED = 1000


class Unsendable(InjectorError):
    """A header's value has what no header may have: control characters, or others than ASCII's."""


class HeadWriter:
    """Encodes the header blocks of one connection, in their order.

    What many calls share, the path and the token with it, goes through HPACK's table and costs
    a few bytes a call; as long as the table stays as it was, the same bytes mean it again. What
    a call has of its own leaves no trace in the table.
    """

    def __init__(self, *, scheme: str, authority: str, user_agent: str) -> None:
        self._around = (
            (":method", "POST"),
            (":scheme", scheme),
            (":authority", authority),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
            ("user-agent", user_agent),
        )
        self._encoder = Encoder()
        self._table = self._encoder.header_table = WatchedTable()
        self._known: dict[tuple[str, Metadata], bytes] = {}

    def write(self, path: str, shared: Metadata, own: Metadata, *, timeout_s: float) -> bytes:
        """Return a request's header block; of the metadata, others have `shared` as well.

        Raises Unsendable, with the table as it was: a block that changes it has to be sent.
        """
        rest = _own(own) + _timeout(int(timeout_s * 1000))
        return (self._known.get((path, shared)) or self._encode(path, shared)) + rest

    def limit_table(self, size: int) -> None:
        """Keep to the table that the server has room for.

        Of several changes before the next block the smallest and the last are told, and no
        more may be (RFC 7541, 4.2). Hpack would forget the change if told the same size again.
        """
        size = min(size, DEFAULT_TABLE_BYTES)
        if size != self._encoder.header_table_size:
            self._encoder.header_table_size = size
            told = self._encoder.table_size_changes
            told[:] = sorted({min(told), size})
            self._known.clear()

    def _encode(self, path: str, shared: Metadata) -> bytes:
        _check(shared)
        self._table.changed = False
        fields = (*self._around[:3], (":path", path), *self._around[3:], *shared)
        block: bytes = self._encoder.encode(fields)
        if self._table.changed or len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        else:
            self._known[path, shared] = block
        return block


@lru_cache(4096)
def _own(metadata: Metadata) -> bytes:
    _check(metadata)
    return b"".join(field(name, value) for name, value in metadata)


@lru_cache(4096)
def _timeout(milliseconds: int) -> bytes:
    return field("grpc-timeout", f"{max(1, milliseconds)}m")


def _check(metadata: Metadata) -> None:
    """Refuse what gRPC's clients refuse; a line's end could begin another header elsewhere."""
    for name, value in metadata:
        if not (value.isascii() and value.isprintable() and value == value.strip()):
            raise Unsendable(f"header {name!r} needs printable ASCII without spaces around it")
