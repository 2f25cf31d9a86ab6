"""The server's side of one HTTP/2 connection, without the connection: bytes in, frames out."""

from collections.abc import Callable, Container
from dataclasses import dataclass

from injector.emulator.rpc import RpcError
from injector.emulator.transport import answers
from injector.emulator.transport.heads import Head, head_reader
from injector.emulator.transport.messages import take_first, too_large
from injector.emulator.transport.outbox import Outbox
from injector.emulator.transport.ports import MAX_MESSAGE_BYTES
from injector.http2 import frames
from injector.http2.frame_reader import FrameReader
from injector.http2.frames import (
    END_STREAM,
    PADDED,
    STREAM_WINDOW_BYTES,
    Broken,
    Fault,
    Setting,
)
from injector.http2.messages import PREFIX_BYTES
from injector.http2.side import Side


@dataclass(slots=True)
class _Request:
    """A call that is not answered; `whole` when its request has been read to the end.

    One that `streams` is told of message by message.
    """

    head: Head
    body: bytearray | None = None
    whole: bool = False
    streams: bool = False
    owed: int = 0


Asked = tuple[int, Head, bytes]
"""A whole request: its stream, its head and its body."""

_AT_ONCE = 32
"""The most requests to be handled at once; far fewer than a client may have under way, so that
none is refused for those that are only about to be."""


def _unheard(_stream: int, _head: Head, _message: bytes | None) -> None:
    """Take no messages: no method streams."""


def _unheard_of(_: object) -> None:
    """Ask nobody: the client is gone."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """The methods whose calls stream both ways, and who hears each message, and None at its end."""

    methods: Container[str] = ()
    hear: Callable[[int, Head, bytes | None], None] = _unheard


class Session(Side[Outbox]):
    """Keeps a connection's state and tells `ask` of the whole requests that a read brings.

    They are answered through `answer` or `fail`, at once or later. `forget` is told of a stream
    that its client gave up. Calls that are `streaming` are answered through `say` and `finish`.
    What is to be written gathers in `out`.
    Windows are given back as data comes in, and are so much wider than a frame that no client
    can overrun them: a flood is met by the bound on what is gathered.
    """

    def __init__(
        self,
        *,
        ask: Callable[[list[Asked]], None],
        forget: Callable[[int], None],
        max_streams: int,
        most_gathered_bytes: int = 2 * MAX_MESSAGE_BYTES,
        streaming: Streaming | None = None,
    ) -> None:
        super().__init__(FrameReader(preface=True), Outbox(*_greeting(max_streams)))
        self._ask = ask
        self._forget = forget
        self._streaming = streaming or Streaming()
        self._max_streams = max_streams
        self._most_gathered_bytes = most_gathered_bytes
        self._heads = head_reader()
        self._requests: dict[int, _Request] = {}
        self._asked: list[Asked] = []
        self._leaving = False
        self._last = self._gathered = 0

    @property
    def last_stream(self) -> int:
        """Return the newest stream that the client has opened."""
        return self._last

    @property
    def idle(self) -> bool:
        """Tell whether no call is under way."""
        return not self._requests and not self._sent

    def receive(self, chunk: bytes) -> None:
        """Take what the client sent, then ask; raise Broken when it is not HTTP/2."""
        try:
            super().receive(chunk)
        finally:
            self._ask_all()

    def answer(self, stream: int, message: bytes) -> None:
        """End a call with a message and the status OK."""
        if self._requests.pop(stream, None):
            self._sent.put(stream, message)

    def fail(self, stream: int, error: RpcError) -> None:
        """End a call with another status, and without a message."""
        self._end(stream, answers.failed(stream, error))

    def say(self, stream: int, message: bytes) -> None:
        """Send one message of a streaming call."""
        if stream in self._requests:
            self._sent.say(stream, message)

    def finish(self, stream: int, error: RpcError | None = None) -> None:
        """End a streaming call: well, or with an error."""
        if error is not None and stream not in self._sent:
            self.fail(stream, error)
        elif request := self._requests.pop(stream, None):
            self._gathered -= len(request.body or b"")
            self._sent.finish(stream, answers.trailers(error))

    def unsent(self, stream: int) -> int:
        """Return how many bytes of a streaming call its client does not take yet."""
        return self._sent.unsent(stream)

    def leave(self) -> None:
        """Take no new calls; those under way may end."""
        self._leaving = True
        self.out.append(frames.goaway(self._last, Fault.NO_ERROR))

    def close(self) -> None:
        """Let go of its owner too."""
        super().close()
        self._ask = self._forget = _unheard_of
        self._streaming = Streaming()

    def _end(self, stream: int, last: bytes) -> None:
        request = self._requests.pop(stream, None)
        if request is None:
            return
        self._sent.drop(stream)
        self.out.append(last)
        if not request.whole:
            self._gathered -= len(request.body or b"")
            self.out.append(frames.rst_stream(stream, Fault.NO_ERROR))

    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        self._owe(len(payload))
        request = self._requests.get(stream)
        if request is None or request.whole:
            self._check_opened(stream)
            return
        if flags & PADDED:
            payload = frames.unpadded(flags & PADDED, payload)
        if request.streams:
            self._take_messages(request, stream, payload)
            if flags & END_STREAM:
                self._hear_end(request, stream)
            return
        if request.body is not None or not flags & END_STREAM:
            self._gather(request, stream, payload)
            payload = b""
        if flags & END_STREAM:
            self._complete(request, stream, payload)

    def _complete(self, request: _Request, stream: int, payload: bytes) -> None:
        request.whole = True
        if request.body is not None:
            payload = bytes(request.body)
            self._gathered -= len(payload)
            request.body = None
        self._put_aside(stream, request.head, payload)

    def _put_aside(self, stream: int, head: Head, body: bytes) -> None:
        """Keep a whole request until the others of its read are there.

        Doing the same for many is much faster than everything for one after the other: the
        processor then knows what comes next.
        """
        self._asked.append((stream, head, body))
        if len(self._asked) >= _AT_ONCE:
            self._ask_all()

    def _ask_all(self) -> None:
        asked, self._asked = self._asked, []
        if asked:
            self._ask(asked)

    def _take_messages(self, request: _Request, stream: int, payload: bytes) -> None:
        """Tell of each message that is now whole."""
        self._gather(request, stream, payload)
        body = request.body or bytearray()
        while stream in self._requests and (message := take_first(body)) is not None:
            self._gathered -= len(message)
            self._streaming.hear(stream, request.head, message)

    def _hear_end(self, request: _Request, stream: int) -> None:
        request.whole = True
        if stream in self._requests:
            self._streaming.hear(stream, request.head, None)

    def _gather(self, request: _Request, stream: int, payload: bytes) -> None:
        """Keep a part of a body, and let the client send more of it."""
        request.body = request.body or bytearray()
        request.body += payload
        request.owed += len(payload)
        self._gathered += len(payload)
        if self._gathered > self._most_gathered_bytes:
            raise Broken(Fault.ENHANCE_YOUR_CALM, "too many unfinished requests")
        if len(request.body) > MAX_MESSAGE_BYTES + PREFIX_BYTES:
            self.fail(stream, too_large())
        elif request.owed >= STREAM_WINDOW_BYTES // 2:
            self.out.append(frames.window_update(stream, request.owed))
            request.owed = 0

    def _hear(self, flags: int, stream: int, block: bytes) -> None:
        head = self._heads.read(block)
        if not stream & 1:
            raise Broken(Fault.PROTOCOL_ERROR, f"a request on stream {stream}")
        if stream <= self._last:
            self._trailers(flags, stream)
            return
        self._last = stream
        if self._leaving:
            return
        if len(self._requests) + len(self._sent) >= self._max_streams:
            self.out.append(frames.rst_stream(stream, Fault.REFUSED_STREAM))
            return
        request = self._requests[stream] = _Request(head, whole=bool(flags & END_STREAM))
        if head.refused:
            self._end(stream, answers.refused(stream, head.refused))
        elif head.method in self._streaming.methods:
            request.streams = True
            if request.whole:
                self._streaming.hear(stream, head, None)
        elif request.whole:
            self._put_aside(stream, head, b"")

    def _trailers(self, flags: int, stream: int) -> None:
        """Take the headers that may end a request; those of a call that has ended are late."""
        request = self._requests.get(stream)
        if request is None or request.whole:
            return
        if not flags & END_STREAM:
            raise Broken(Fault.PROTOCOL_ERROR, f"stream {stream} is opened twice")
        if request.streams:
            self._hear_end(request, stream)
            return
        self._complete(request, stream, b"")

    def _reset(self, stream: int, fault: int) -> None:  # noqa: ARG002  # all mean the same
        request = self._requests.pop(stream, None)
        self._sent.drop(stream)
        if request is None:
            return
        self._gathered -= len(request.body or b"")
        if request.whole or request.streams:
            self._asked = [asked for asked in self._asked if asked[0] != stream]
            self._forget(stream)

    def _go_away(self, last: int) -> None:
        """Go on: what a client has asked is answered all the same."""

    def _opened(self, stream: int) -> bool:
        return 0 < stream <= self._last

    def _minds(self, stream: int) -> bool:
        return stream in self._requests or super()._minds(stream)


def _greeting(max_streams: int) -> tuple[bytes, bytes]:
    """Return our first frames: the settings, and a wide window for the connection."""
    settings = frames.settings_frame(
        (Setting.MAX_CONCURRENT_STREAMS, max_streams),
        (Setting.INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES),
        (Setting.MAX_HEADER_LIST_SIZE, frames.MAX_HEADER_BYTES),
    )
    return settings, frames.window_update(0, frames.WIDENED_BYTES)
