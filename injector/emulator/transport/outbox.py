"""What is still to be answered on a connection."""

from injector.emulator.transport.answers import OK_HEADERS, OK_TRAILERS
from injector.http2.frames import END_HEADERS, END_STREAM, Type, frame, header_frames
from injector.http2.messages import PREFIX_BYTES, framed
from injector.http2.windows import Windows

_HEADERS = frame(Type.HEADERS, END_HEADERS, 0, OK_HEADERS)
_TRAILERS = frame(Type.HEADERS, END_HEADERS | END_STREAM, 0, OK_TRAILERS)
_HEADERS_FRONT, _TRAILERS_FRONT = _HEADERS[:5], _TRAILERS[:5]


class Outbox(Windows):
    """Turns answers into frames within the peer's windows."""

    def put(self, stream: int, message: bytes) -> None:
        """Answer a call with a message and the status OK."""
        size = PREFIX_BYTES + len(message)
        if self._waiting or size > self._window or size > self._at_once or self._extra:
            self.begin(stream, frame(Type.HEADERS, END_HEADERS, stream, OK_HEADERS))
            self.add(stream, framed(message))
            self.end(stream, header_frames(stream, OK_TRAILERS))
            return
        self._window -= size
        number = stream.to_bytes(4, "big")
        self.out += (
            _HEADERS_FRONT, number, OK_HEADERS,
            size.to_bytes(3, "big"), b"\0\0", number,
            len(message).to_bytes(PREFIX_BYTES, "big"), message,
            _TRAILERS_FRONT, number, OK_TRAILERS,
        )  # fmt: skip

    def say(self, stream: int, message: bytes) -> None:
        """Send one message of a call that answers several."""
        self._begin(stream)
        self.add(stream, framed(message))

    def finish(self, stream: int, trailers: bytes) -> None:
        """End a call that answers several, once what it said has left."""
        self._begin(stream)
        self.end(stream, header_frames(stream, trailers))

    def _begin(self, stream: int) -> None:
        if stream not in self:
            self.begin(stream, frame(Type.HEADERS, END_HEADERS, stream, OK_HEADERS))
