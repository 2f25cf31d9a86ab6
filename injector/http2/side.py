"""What both sides of an HTTP/2 connection do alike, without the connection (RFC 9113)."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Generic, TypeVar

from injector.http2 import frames
from injector.http2.frame_reader import FrameReader
from injector.http2.frames import (
    ACK,
    CONNECTION_WINDOW_BYTES,
    END_HEADERS,
    MAX_HEADER_BYTES,
    MAX_STREAM,
    MAX_WINDOW_BYTES,
    PADDED,
    PRIORITY,
    Broken,
    Fault,
    Setting,
    Type,
)
from injector.http2.windows import Windows

_GIVEN_BACK_AT_BYTES = CONNECTION_WINDOW_BYTES // 2
_MOST_FRAMES_OF_A_BLOCK = 1000
"""Far more than its bytes can need; a flood of empty ones would never end."""

W = TypeVar("W", bound=Windows)
_Take = Callable[[int, int, bytes], None]
"""What takes a frame's flags, its stream and its payload."""


class _Block:
    """A header block of which CONTINUATIONs are to come; `flags` are those of its first frame."""

    __slots__ = ("_frames", "_stream", "flags", "packed")

    def __init__(self, stream: int, flags: int, packed: bytes = b"") -> None:
        self.flags = flags
        self.packed = bytearray(packed)
        self._stream = stream
        self._frames = 1

    def add(self, stream: int, packed: bytes) -> None:
        """Take what the next frame brings; raises Broken for another stream's, or a flood."""
        if stream != self._stream:
            raise Broken(Fault.PROTOCOL_ERROR, "a CONTINUATION of another stream")
        self.packed += packed
        self._frames += 1
        if len(self.packed) > MAX_HEADER_BYTES or self._frames > _MOST_FRAMES_OF_A_BLOCK:
            raise Broken(Fault.ENHANCE_YOUR_CALM, "a header block without end")


class Side(ABC, Generic[W]):
    """Takes what the other side sent, frame by frame.

    What is to be written gathers in `out`; `sent` turns messages into frames that the other
    side's windows take. Our own window is given back as data comes in.
    """

    def __init__(self, reader: FrameReader, sent: W) -> None:
        self._frames = reader
        self._sent = sent
        self.out = sent.out
        self._expected: Type | None = Type.SETTINGS
        self._block = _Block(0, 0)
        self._owed = 0
        self._take: tuple[_Take, ...] = (
            self._data,
            self._headers,
            self._priority,
            self._rst_stream,
            self._settings,
            self._push_promise,
            self._ping,
            self._goaway,
            self._window_update,
            self._continuation,
        )

    def receive(self, chunk: bytes) -> None:
        """Take what the other side sent; raise Broken when it is not HTTP/2."""
        for kind, flags, stream, payload in self._frames.read(chunk):
            if self._expected is not None and kind != self._expected:
                raise Broken(Fault.PROTOCOL_ERROR, f"frame {kind} in place of {self._expected}")
            if kind < len(self._take):  # others are to be ignored
                self._take[kind](flags, stream, payload)

    def close(self) -> None:
        """Let go of itself: what holds itself waits for the collector when it is not used more."""
        self._take = ()

    @abstractmethod
    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        """Take a part of a body."""

    @abstractmethod
    def _hear(self, flags: int, stream: int, block: bytes) -> None:
        """Take a whole header block."""

    @abstractmethod
    def _reset(self, stream: int, fault: int) -> None:
        """Take the end of a stream that once was opened."""

    @abstractmethod
    def _go_away(self, last: int) -> None:
        """Hear that no stream after the last is looked at."""

    @abstractmethod
    def _opened(self, stream: int) -> bool:
        """Tell whether a stream was ever opened."""

    def _agree(self, settings: dict[int, int]) -> None:
        """Mind the other side's settings."""
        self._sent.start_at(settings.get(Setting.INITIAL_WINDOW_SIZE, self._sent.initial))

    def _minds(self, stream: int) -> bool:
        """Tell whether a stream's window matters still."""
        return stream in self._sent

    def _owe(self, size: int) -> None:
        """Give the connection's window back, in large pieces."""
        self._owed += size
        if self._owed >= _GIVEN_BACK_AT_BYTES:
            self.out.append(frames.window_update(0, self._owed))
            self._owed = 0

    def _headers(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & (PADDED | PRIORITY):
            payload = frames.unpadded(flags, payload)
        if flags & END_HEADERS:
            self._hear(flags, stream, payload)
        else:
            self._block = _Block(stream, flags, payload)
            self._expected = Type.CONTINUATION

    def _continuation(self, flags: int, stream: int, payload: bytes) -> None:
        if self._expected is None:
            raise Broken(Fault.PROTOCOL_ERROR, "a CONTINUATION of nothing")
        self._block.add(stream, payload)
        if flags & END_HEADERS:
            self._expected = None
            self._hear(self._block.flags, stream, bytes(self._block.packed))

    def _priority(self, _flags: int, _stream: int, payload: bytes) -> None:
        _check_size(payload, 5)

    def _rst_stream(self, _flags: int, stream: int, payload: bytes) -> None:
        _check_size(payload, 4)
        self._check_opened(stream)
        self._reset(stream, int.from_bytes(payload, "big"))

    def _settings(self, flags: int, stream: int, payload: bytes) -> None:
        self._expected = None
        if stream:
            raise Broken(Fault.PROTOCOL_ERROR, "settings of a stream")
        if flags & ACK:
            _check_size(payload, 0)
            return
        self.out.append(frames.frame(Type.SETTINGS, ACK, 0))
        self._agree(frames.settings(payload))

    def _push_promise(self, _flags: int, _stream: int, _payload: bytes) -> None:
        raise Broken(Fault.PROTOCOL_ERROR, "a push: a client may not, and ours rule it out")

    def _ping(self, flags: int, stream: int, payload: bytes) -> None:
        _check_size(payload, 8)
        if stream:
            raise Broken(Fault.PROTOCOL_ERROR, "a ping of a stream")
        if not flags & ACK:
            self.out.append(frames.frame(Type.PING, ACK, 0, payload))

    def _goaway(self, _flags: int, stream: int, payload: bytes) -> None:
        if stream:
            raise Broken(Fault.PROTOCOL_ERROR, "a stream goes away")
        self._go_away(int.from_bytes(payload[:4], "big") & MAX_STREAM)

    def _window_update(self, _flags: int, stream: int, payload: bytes) -> None:
        _check_size(payload, 4)
        if stream:
            self._check_opened(stream)
        increment = int.from_bytes(payload, "big") & MAX_WINDOW_BYTES
        if not increment:
            raise Broken(Fault.PROTOCOL_ERROR, "a window widened by nothing")
        if stream == 0 or self._minds(stream):
            self._sent.widen(stream, increment)

    def _check_opened(self, stream: int) -> None:
        """Refuse a frame on a stream that was never opened; one that has ended may be late."""
        if not self._opened(stream):
            raise Broken(Fault.PROTOCOL_ERROR, f"stream {stream} is not open")


def _check_size(payload: bytes, size: int) -> None:
    if len(payload) != size:
        raise Broken(Fault.FRAME_SIZE_ERROR, f"{len(payload)} bytes, not {size}")
