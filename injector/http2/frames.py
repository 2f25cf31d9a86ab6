"""HTTP/2 on the wire (RFC 9113): the frames that gRPC needs, and the names of things."""

from enum import IntEnum

from injector.errors import InjectorError

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD_BYTES = 9
MAX_FRAME_BYTES = 16_384
"""The size of frame that we take: the protocol's own default, known to every client."""
STREAM_WINDOW_BYTES = 4 * 1024 * 1024
CONNECTION_WINDOW_BYTES = 64 * 1024 * 1024
WIDENED_BYTES = CONNECTION_WINDOW_BYTES - 65_535
"""By how much a connection's window is widened at its start."""
MAX_WINDOW_BYTES = MAX_STREAM = 2**31 - 1
DEFAULT_TABLE_BYTES = 4096
"""What HPACK's table of a connection holds, unless the reader says otherwise."""
MAX_HEADER_BYTES = 64 * 1024
"""Both the most that a header block may hold packed, and unpacked."""


class Type(IntEnum):
    """The types of frame; others are to be ignored."""

    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
PRIORITY = 0x20


class Fault(IntEnum):
    """The error codes of RST_STREAM and GOAWAY."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12


class Setting(IntEnum):
    """The settings that gRPC sends or minds."""

    HEADER_TABLE_SIZE = 1
    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5
    MAX_HEADER_LIST_SIZE = 6


class Broken(InjectorError):
    """The peer broke the protocol: the connection ends with a GOAWAY of this fault."""

    def __init__(self, fault: Fault, why: str) -> None:
        super().__init__(why)
        self.fault = fault
        self.why = why


def frame(kind: Type, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return one frame."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
    return head + payload


def settings_frame(*pairs: tuple[Setting, int]) -> bytes:
    """Return the frame that tells the peer how one wants to be spoken to."""
    packed = (key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in pairs)
    return frame(Type.SETTINGS, 0, 0, b"".join(packed))


def header_frames(stream: int, block: bytes, flags: int = END_STREAM) -> bytes:
    """Return a HEADERS frame, and CONTINUATIONs if it needs any; by default it ends its stream."""
    parts = [block[at : at + MAX_FRAME_BYTES] for at in range(0, len(block), MAX_FRAME_BYTES)]
    kinds = [(Type.HEADERS, flags)] + [(Type.CONTINUATION, 0)] * (len(parts) - 1)
    return b"".join(
        frame(kind, flag | (END_HEADERS if part is parts[-1] else 0), stream, part)
        for (kind, flag), part in zip(kinds, parts, strict=True)
    )


def window_update(stream: int, increment: int) -> bytes:
    """Return the frame that lets the peer send so many bytes more."""
    return frame(Type.WINDOW_UPDATE, 0, stream, increment.to_bytes(4, "big"))


def rst_stream(stream: int, fault: Fault) -> bytes:
    """Return the frame that ends one stream."""
    return frame(Type.RST_STREAM, 0, stream, fault.to_bytes(4, "big"))


def goaway(last_stream: int, fault: Fault, why: str = "") -> bytes:
    """Return the frame that ends a connection; streams after `last_stream` were not looked at."""
    payload = last_stream.to_bytes(4, "big") + fault.to_bytes(4, "big") + why.encode()
    return frame(Type.GOAWAY, 0, 0, payload)


def unpadded(flags: int, payload: bytes) -> bytes:
    """Return a DATA or HEADERS payload without its padding and its priority."""
    start = pad = 0
    if flags & PADDED:
        start, pad = 1, payload[0] if payload else 0
    if flags & PRIORITY:
        start += 5
    if len(payload) < start + pad:
        raise Broken(Fault.PROTOCOL_ERROR, "more padding than payload")
    return payload[start : len(payload) - pad]


def settings(payload: bytes) -> dict[int, int]:
    """Return a SETTINGS frame's pairs; the last of a kind counts."""
    if len(payload) % 6:
        raise Broken(Fault.FRAME_SIZE_ERROR, "settings come in pairs of 6 bytes")
    return {
        int.from_bytes(payload[at : at + 2], "big"): int.from_bytes(payload[at + 2 : at + 6], "big")
        for at in range(0, len(payload), 6)
    }
