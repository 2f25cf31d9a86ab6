"""gRPC's framing of messages in a request's body."""

import zlib
from struct import Struct

from injector.emulator.rpc import Code, RpcError
from injector.emulator.transport.ports import MAX_MESSAGE_BYTES
from injector.http2.messages import PREFIX_BYTES

_prefix = Struct(">BI").unpack_from
_WINDOW_BITS = {"gzip": 31, "deflate": 15}


def unpack(body: bytes, encoding: str) -> bytes:
    """Return the one message of a request's whole body.

    Raises RpcError: a call of one request that brings none or several is UNIMPLEMENTED by
    gRPC's table of status codes.
    """
    packed, size = _prefix(body) if len(body) >= PREFIX_BYTES else (0, 0)
    if len(body) != PREFIX_BYTES + size:
        raise RpcError(Code.UNIMPLEMENTED, "A call takes exactly one request message.")
    message = body[PREFIX_BYTES:]
    return _decompressed(message, encoding) if packed else message


def take_first(body: bytearray) -> bytes | None:
    """Take the first whole message off a stream of them, with its prefix; None if there is none."""
    end = PREFIX_BYTES + int.from_bytes(body[1:PREFIX_BYTES], "big")
    if len(body) < PREFIX_BYTES or len(body) < end:
        return None
    first = bytes(body[:end])
    del body[:end]
    return first


def _decompressed(packed: bytes, encoding: str) -> bytes:
    if encoding not in _WINDOW_BITS:
        raise RpcError(Code.UNIMPLEMENTED, f"Compression {encoding!r} is not supported.")
    unzip = zlib.decompressobj(_WINDOW_BITS[encoding])
    try:
        message = unzip.decompress(packed, MAX_MESSAGE_BYTES)
    except zlib.error as error:
        raise RpcError(Code.INVALID_ARGUMENT, f"The request is not valid {encoding}.") from error
    if unzip.unconsumed_tail:
        raise too_large()
    return message


def too_large() -> RpcError:
    """Return the end of a call whose request is larger than we take."""
    return RpcError(Code.RESOURCE_EXHAUSTED, f"The request is over {MAX_MESSAGE_BYTES} bytes.")
