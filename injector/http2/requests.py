"""What is still to be asked on a connection."""

from injector.http2.frames import END_STREAM, MAX_FRAME_BYTES, Type, frame, header_frames
from injector.http2.messages import PREFIX_BYTES, framed
from injector.http2.windows import Windows


class Requests(Windows):
    """Turns requests into frames within the peer's windows."""

    def put(self, stream: int, block: bytes, message: bytes) -> None:
        """Ask: headers, then one message, which ends the stream."""
        size = PREFIX_BYTES + len(message)
        if (
            self._waiting
            or size > self._window
            or size > self._at_once
            or len(block) > MAX_FRAME_BYTES
        ):
            self.begin(stream, header_frames(stream, block, flags=0))
            self.add(stream, framed(message))
            self.end(stream, frame(Type.DATA, END_STREAM, stream))
            return
        self._window -= size
        number = stream.to_bytes(4, "big")
        self.out += (
            len(block).to_bytes(3, "big"), b"\1\4", number, block,
            size.to_bytes(3, "big"), b"\0\1", number,
            len(message).to_bytes(PREFIX_BYTES, "big"), message,
        )  # fmt: skip
