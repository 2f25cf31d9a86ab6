"""Cutting what a peer sent into frames."""

from collections.abc import Iterator
from struct import Struct

from injector.http2.frames import (
    FRAME_HEAD_BYTES,
    MAX_FRAME_BYTES,
    PREFACE,
    Broken,
    Fault,
)

_head = Struct(">IBI").unpack_from
"""A frame's size and type, its flags, and its stream after a reserved bit (RFC 9113, 4.1)."""


class FrameReader:
    """Gives the frames of a connection, and keeps what is not a whole one yet.

    A client's begin after a preface, a server's at once.
    """

    def __init__(self, *, preface: bool) -> None:
        self._rest = b""
        self._greeted = not preface

    def read(self, chunk: bytes) -> Iterator[tuple[int, int, int, bytes]]:
        """Yield type, flags, stream and payload of each frame that is now whole."""
        data = self._rest + chunk if self._rest else chunk
        at, end = 0 if self._greeted else self._skip_preface(data), len(data)
        while (start := at + FRAME_HEAD_BYTES) <= end:
            sized, flags, stream = _head(data, at)
            size = sized >> 8
            if size > MAX_FRAME_BYTES:
                raise Broken(Fault.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            if start + size > end:
                break
            at = start + size
            yield sized & 0xFF, flags, stream & 0x7FFFFFFF, data[start:at]
        self._rest = data[at:] if self._greeted else data

    def _skip_preface(self, data: bytes) -> int:
        """Return where the frames start; beyond the end, as long as the preface is not whole."""
        if not PREFACE.startswith(data[: len(PREFACE)]):
            raise NotHttp2(Fault.PROTOCOL_ERROR, "no HTTP/2 preface")
        self._greeted = len(data) >= len(PREFACE)
        return len(PREFACE)


class NotHttp2(Broken):
    """The client speaks something else."""
