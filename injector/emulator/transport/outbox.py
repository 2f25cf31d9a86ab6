"""What is still to be sent on a connection, and how much of it the peer will take."""

from collections.abc import Iterable
from dataclasses import dataclass

from injector.emulator.transport.answers import OK_HEADERS, OK_TRAILERS, header_frames
from injector.emulator.transport.messages import PREFIX_BYTES
from injector.http2.frames import (
    END_HEADERS,
    END_STREAM,
    MAX_FRAME_BYTES,
    MAX_WINDOW_BYTES,
    Broken,
    Fault,
    Type,
    frame,
)

_DEFAULT_WINDOW_BYTES = 65_535
_HEADERS = frame(Type.HEADERS, END_HEADERS, 0, OK_HEADERS)
_TRAILERS = frame(Type.HEADERS, END_HEADERS | END_STREAM, 0, OK_TRAILERS)
_HEADERS_FRONT, _TRAILERS_FRONT = _HEADERS[:5], _TRAILERS[:5]


@dataclass(slots=True)
class _Waiting:
    """An answer of which `rest` is unsent; the peer takes `window` bytes more of it now.

    Without `trailers` more of it is to come.
    """

    rest: memoryview
    window: int
    trailers: bytes = OK_TRAILERS


class Outbox:
    """Turns answers into frames within the peer's windows (RFC 9113, 5.2).

    Frames are appended to `out`. What does not fit waits for the peer to widen a window.
    """

    def __init__(self, out: list[bytes]) -> None:
        self._out = out
        self._window = _DEFAULT_WINDOW_BYTES
        self.initial = _DEFAULT_WINDOW_BYTES
        self._at_once = MAX_FRAME_BYTES
        self._extra: dict[int, int] = {}
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        """Return how many answers wait."""
        return len(self._waiting)

    def __contains__(self, stream: int) -> bool:
        """Tell whether a stream's answer waits."""
        return stream in self._waiting

    def put(self, stream: int, message: bytes) -> None:
        """Answer a call with a message and the status OK."""
        size = PREFIX_BYTES + len(message)
        if self._waiting or size > self._window or size > self._at_once or self._extra:
            self._put_slowly(stream, message)
            return
        self._window -= size
        number = stream.to_bytes(4, "big")
        self._out += (
            _HEADERS_FRONT, number, OK_HEADERS,
            size.to_bytes(3, "big"), b"\0\0", number,
            len(message).to_bytes(PREFIX_BYTES, "big"), message,
            _TRAILERS_FRONT, number, OK_TRAILERS,
        )  # fmt: skip

    def _put_slowly(self, stream: int, message: bytes) -> None:
        self._out.append(frame(Type.HEADERS, END_HEADERS, stream, OK_HEADERS))
        body = memoryview(len(message).to_bytes(PREFIX_BYTES, "big") + message)
        self._waiting[stream] = _Waiting(body, self.initial + self._extra.pop(stream, 0))
        self._send((stream,))

    def say(self, stream: int, message: bytes) -> None:
        """Send one message of a call that answers several."""
        waiting = self._begun(stream)
        prefix = len(message).to_bytes(PREFIX_BYTES, "big")
        waiting.rest = memoryview(b"".join((waiting.rest, prefix, message)))
        self._send((stream,))

    def finish(self, stream: int, trailers: bytes) -> None:
        """End a call that answers several, once what it said has left."""
        self._begun(stream).trailers = trailers
        self._send((stream,))

    def _begun(self, stream: int) -> _Waiting:
        waiting = self._waiting.get(stream)
        if waiting is None:
            self._out.append(frame(Type.HEADERS, END_HEADERS, stream, OK_HEADERS))
            window = self.initial + self._extra.pop(stream, 0)
            waiting = self._waiting[stream] = _Waiting(memoryview(b""), window, trailers=b"")
        return waiting

    def unsent(self, stream: int) -> int:
        """Return how many bytes of a stream the peer does not take yet."""
        waiting = self._waiting.get(stream)
        return len(waiting.rest) if waiting else 0

    def widen(self, stream: int, increment: int) -> None:
        """Take the peer's word that it will take so many bytes more: of a stream, or (0) of all."""
        if stream == 0:
            self._window = _widened(self._window, increment)
            self._send(tuple(self._waiting))
        elif waiting := self._waiting.get(stream):
            waiting.window = _widened(waiting.window, increment)
            self._send((stream,))
        else:
            extra = self._extra.get(stream, 0)
            self._extra[stream] = _widened(self.initial + extra, increment) - self.initial

    def start_at(self, initial: int) -> None:
        """Take the peer's word on the window of every stream, those under way included."""
        if initial > MAX_WINDOW_BYTES:
            raise Broken(Fault.FLOW_CONTROL_ERROR, f"an initial window of {initial} bytes")
        for waiting in self._waiting.values():
            waiting.window = _widened(waiting.window, initial - self.initial)
        self.initial = initial
        self._at_once = min(initial, MAX_FRAME_BYTES)
        self._send(tuple(self._waiting))

    def drop(self, stream: int) -> None:
        """Forget what was to be sent on a stream."""
        self._extra.pop(stream, None)
        self._waiting.pop(stream, None)

    def _send(self, streams: Iterable[int]) -> None:
        for stream in streams:
            waiting = self._waiting[stream]
            while waiting.rest and (size := min(waiting.window, self._window, MAX_FRAME_BYTES)) > 0:
                self._out.append(frame(Type.DATA, 0, stream, bytes(waiting.rest[:size])))
                sent = min(size, len(waiting.rest))
                waiting.rest = waiting.rest[sent:]
                waiting.window -= sent
                self._window -= sent
            if not waiting.rest and waiting.trailers:
                del self._waiting[stream]
                self._out.append(header_frames(stream, waiting.trailers))


def _widened(window: int, increment: int) -> int:
    if window + increment > MAX_WINDOW_BYTES:
        raise Broken(Fault.FLOW_CONTROL_ERROR, f"a window of {window + increment} bytes")
    return window + increment
