"""How much a peer takes, and what waits for it to take more (RFC 9113, 5.2)."""

from collections.abc import Iterable
from dataclasses import dataclass

from injector.http2.frames import (
    MAX_FRAME_BYTES,
    MAX_WINDOW_BYTES,
    Broken,
    Fault,
    Type,
    frame,
)

_DEFAULT_WINDOW_BYTES = 65_535


@dataclass(slots=True)
class _Waiting:
    """Of what goes on a stream, `rest` is unsent; the peer takes `window` bytes more of it now.

    Without `end`, the frames that follow the last byte, more of it is to come.
    """

    rest: memoryview
    window: int
    end: bytes = b""


class Windows:
    """Sends streams' data as frames within the peer's windows.

    Frames are appended to `out`, which begins with `greeting`. What does not fit waits for the
    peer to widen a window.
    """

    def __init__(self, *greeting: bytes) -> None:
        self.out = list(greeting)
        self._window = _DEFAULT_WINDOW_BYTES
        self.initial = _DEFAULT_WINDOW_BYTES
        self._at_once = MAX_FRAME_BYTES
        self._extra: dict[int, int] = {}
        self._waiting: dict[int, _Waiting] = {}

    def __len__(self) -> int:
        """Return how many streams wait."""
        return len(self._waiting)

    def __contains__(self, stream: int) -> bool:
        """Tell whether a stream waits."""
        return stream in self._waiting

    def begin(self, stream: int, head: bytes) -> None:
        """Send the frames that come before a stream's data."""
        self.out.append(head)
        window = self.initial + self._extra.pop(stream, 0)
        self._waiting[stream] = _Waiting(memoryview(b""), window)

    def add(self, stream: int, data: bytes) -> None:
        """Send data on a stream that has begun."""
        waiting = self._waiting[stream]
        waiting.rest = memoryview(b"".join((waiting.rest, data)) if waiting.rest else data)
        self._send((stream,))

    def end(self, stream: int, frames: bytes) -> None:
        """Send a stream's last frames, once its data has left."""
        self._waiting[stream].end = frames
        self._send((stream,))

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
                self.out.append(frame(Type.DATA, 0, stream, bytes(waiting.rest[:size])))
                sent = min(size, len(waiting.rest))
                waiting.rest = waiting.rest[sent:]
                waiting.window -= sent
                self._window -= sent
            if not waiting.rest and waiting.end:
                del self._waiting[stream]
                self.out.append(waiting.end)


def _widened(window: int, increment: int) -> int:
    if window + increment > MAX_WINDOW_BYTES:
        raise Broken(Fault.FLOW_CONTROL_ERROR, f"a window of {window + increment} bytes")
    return window + increment
