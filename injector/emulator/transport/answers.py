"""How a call's end looks on the wire.

Header fields go out as literals that are not indexed: so the answers need no memory of what was
sent before, whatever table size the client asks for, and may be made once.
"""

from base64 import b64encode
from functools import lru_cache
from urllib.parse import quote

from injector.emulator.rpc import RpcError
from injector.http2.frames import header_frames
from injector.http2.header_blocks import field

_READABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


OK_HEADERS = b"\x88" + field("content-type", "application/grpc")
OK_TRAILERS = field("grpc-status", "0")


@lru_cache(maxsize=1024)
def error_trailers(code: int, message: str, details: bytes) -> bytes:
    """Return the trailers that end a call with a status other than OK."""
    block = field("grpc-status", str(code))
    if message:
        block += field("grpc-message", quote(message, safe=_READABLE))
    if details:
        block += field("grpc-status-details-bin", b64encode(details).rstrip(b"=").decode())
    return block


def failed(stream: int, error: RpcError) -> bytes:
    """Return the frames of a call that ends without a message."""
    return header_frames(stream, OK_HEADERS + trailers(error))


def trailers(error: RpcError | None) -> bytes:
    """Return the trailers of a call's end; None is its success."""
    if error is None:
        return OK_TRAILERS
    return error_trailers(error.code, error.message, error.details)


def refused(stream: int, status: int) -> bytes:
    """Return the frames that answer what is no gRPC call with an HTTP status."""
    return header_frames(stream, field(":status", str(status)))
