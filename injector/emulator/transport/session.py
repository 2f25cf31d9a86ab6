"""The server's side of one HTTP/2 connection, without the connection: bytes in, frames out."""

from collections.abc import Callable, Container
from dataclasses import dataclass, field

from injector.emulator.rpc import RpcError
from injector.emulator.transport import answers
from injector.emulator.transport.heads import Head, head_reader
from injector.emulator.transport.messages import PREFIX_BYTES, take_first, too_large
from injector.emulator.transport.outbox import Outbox
from injector.emulator.transport.ports import MAX_MESSAGE_BYTES
from injector.http2 import frames
from injector.http2.frame_reader import FrameReader
from injector.http2.frames import (
    ACK,
    CONNECTION_WINDOW_BYTES,
    END_HEADERS,
    END_STREAM,
    MAX_HEADER_BYTES,
    MAX_WINDOW_BYTES,
    PADDED,
    PRIORITY,
    STREAM_WINDOW_BYTES,
    Broken,
    Fault,
    Setting,
    Type,
)

_MOST_FRAMES_OF_A_BLOCK = 1000
"""Far more than its bytes can need; a flood of empty ones would never end."""


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


@dataclass(slots=True)
class _Block:
    """A header block of which CONTINUATIONs are to come."""

    stream: int
    flags: int
    packed: bytearray = field(default_factory=bytearray)
    frames: int = 1


def _unheard(_stream: int, _head: Head, _message: bytes | None) -> None:
    """Take no messages: no method streams."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """The methods whose calls stream both ways, and who hears each message, and None at its end."""

    methods: Container[str] = ()
    hear: Callable[[int, Head, bytes | None], None] = _unheard


class Session:
    """Keeps a connection's state and tells `ask` of each whole request.

    `ask` is given the stream, the head and the body, and answers through `answer` or `fail`, at
    once or later. `forget` is told of a stream that its client gave up. Calls that are
    `streaming` are answered through `say` and `finish`. What is to be written gathers in `out`.
    Windows are given back as data comes in, and are so much wider than a frame that no client
    can overrun them: a flood is met by the bound on what is gathered.
    """

    def __init__(
        self,
        *,
        ask: Callable[[int, Head, bytes], None],
        forget: Callable[[int], None],
        max_streams: int,
        most_gathered_bytes: int = 2 * MAX_MESSAGE_BYTES,
        streaming: Streaming | None = None,
    ) -> None:
        self.out = [frames.greeting(max_streams)]
        self._ask = ask
        self._forget = forget
        self._streaming = streaming or Streaming()
        self._max_streams = max_streams
        self._most_gathered_bytes = most_gathered_bytes
        self._outbox = Outbox(self.out)
        self._heads = head_reader()
        self._requests: dict[int, _Request] = {}
        self._frames = FrameReader(preface=True)
        self._leaving = False
        self._expected: Type | None = Type.SETTINGS
        self._block = _Block(0, 0)
        self._last = self._owed = self._gathered = 0
        self._take: tuple[Callable[[int, int, bytes], None], ...] = (
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

    @property
    def last_stream(self) -> int:
        """Return the newest stream that the client has opened."""
        return self._last

    @property
    def idle(self) -> bool:
        """Tell whether no call is under way."""
        return not self._requests and not self._outbox

    def receive(self, chunk: bytes) -> None:
        """Take what the client sent; raise Broken when it is not HTTP/2."""
        for kind, flags, stream, payload in self._frames.read(chunk):
            if self._expected is not None and kind != self._expected:
                raise Broken(Fault.PROTOCOL_ERROR, f"frame {kind} in place of {self._expected}")
            if kind <= Type.CONTINUATION:
                self._take[kind](flags, stream, payload)

    def answer(self, stream: int, message: bytes) -> None:
        """End a call with a message and the status OK."""
        if self._requests.pop(stream, None):
            self._outbox.put(stream, message)

    def fail(self, stream: int, error: RpcError) -> None:
        """End a call with another status, and without a message."""
        self._end(stream, answers.failed(stream, error))

    def say(self, stream: int, message: bytes) -> None:
        """Send one message of a streaming call."""
        if stream in self._requests:
            self._outbox.say(stream, message)

    def finish(self, stream: int, error: RpcError | None = None) -> None:
        """End a streaming call: well, or with an error."""
        if error is not None and stream not in self._outbox:
            self.fail(stream, error)
        elif request := self._requests.pop(stream, None):
            self._gathered -= len(request.body or b"")
            self._outbox.finish(stream, answers.trailers(error))

    def unsent(self, stream: int) -> int:
        """Return how many bytes of a streaming call its client does not take yet."""
        return self._outbox.unsent(stream)

    def leave(self) -> None:
        """Take no new calls; those under way may end."""
        self._leaving = True
        self.out.append(frames.goaway(self._last, Fault.NO_ERROR))

    def _end(self, stream: int, last: bytes) -> None:
        request = self._requests.pop(stream, None)
        if request is None:
            return
        self._outbox.drop(stream)
        self.out.append(last)
        if not request.whole:
            self._gathered -= len(request.body or b"")
            self.out.append(frames.rst_stream(stream, Fault.NO_ERROR))

    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        self._owed += len(payload)
        if self._owed >= CONNECTION_WINDOW_BYTES // 2:
            self.out.append(frames.window_update(0, self._owed))
            self._owed = 0
        request = self._requests.get(stream)
        if request is None or request.whole:
            self._check_known(stream)
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
        self._ask(stream, request.head, payload)

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

    def _headers(self, flags: int, stream: int, payload: bytes) -> None:
        if flags & (PADDED | PRIORITY):
            payload = frames.unpadded(flags, payload)
        if flags & END_HEADERS:
            self._open(flags, stream, payload)
        else:
            self._block = _Block(stream, flags, bytearray(payload))
            self._expected = Type.CONTINUATION

    def _continuation(self, flags: int, stream: int, payload: bytes) -> None:
        block = self._block
        if self._expected is None or stream != block.stream:
            raise Broken(Fault.PROTOCOL_ERROR, "a CONTINUATION of nothing")
        block.packed += payload
        block.frames += 1
        if len(block.packed) > MAX_HEADER_BYTES or block.frames > _MOST_FRAMES_OF_A_BLOCK:
            raise Broken(Fault.ENHANCE_YOUR_CALM, "a header block without end")
        if flags & END_HEADERS:
            self._expected = None
            self._open(block.flags, stream, bytes(block.packed))

    def _open(self, flags: int, stream: int, block: bytes) -> None:
        head = self._heads.read(block)
        if not stream & 1:
            raise Broken(Fault.PROTOCOL_ERROR, f"a request on stream {stream}")
        if stream <= self._last:
            self._trailers(flags, stream)
            return
        self._last = stream
        if self._leaving:
            return
        if len(self._requests) + len(self._outbox) >= self._max_streams:
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
            self._ask(stream, head, b"")

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

    def _priority(self, _flags: int, _stream: int, payload: bytes) -> None:
        _check_size(payload, 5)

    def _rst_stream(self, _flags: int, stream: int, payload: bytes) -> None:
        _check_size(payload, 4)
        self._check_known(stream)
        request = self._requests.pop(stream, None)
        self._outbox.drop(stream)
        if request is None:
            return
        self._gathered -= len(request.body or b"")
        if request.whole or request.streams:
            self._forget(stream)

    def _settings(self, flags: int, stream: int, payload: bytes) -> None:
        self._expected = None
        if stream:
            raise Broken(Fault.PROTOCOL_ERROR, "settings of a stream")
        if flags & ACK:
            _check_size(payload, 0)
            return
        settings = frames.settings(payload)
        self._outbox.start_at(settings.get(Setting.INITIAL_WINDOW_SIZE, self._outbox.initial))
        self.out.append(frames.frame(Type.SETTINGS, ACK, 0))

    def _push_promise(self, _flags: int, _stream: int, _payload: bytes) -> None:
        raise Broken(Fault.PROTOCOL_ERROR, "a client's push")

    def _ping(self, flags: int, stream: int, payload: bytes) -> None:
        _check_size(payload, 8)
        if stream:
            raise Broken(Fault.PROTOCOL_ERROR, "a ping of a stream")
        if not flags & ACK:
            self.out.append(frames.frame(Type.PING, ACK, 0, payload))

    def _goaway(self, _flags: int, stream: int, _payload: bytes) -> None:
        if stream:
            raise Broken(Fault.PROTOCOL_ERROR, "a stream goes away")

    def _window_update(self, _flags: int, stream: int, payload: bytes) -> None:
        _check_size(payload, 4)
        if stream:
            self._check_known(stream)
        increment = int.from_bytes(payload, "big") & MAX_WINDOW_BYTES
        if not increment:
            raise Broken(Fault.PROTOCOL_ERROR, "a window widened by nothing")
        if stream == 0 or stream in self._requests or stream in self._outbox:
            self._outbox.widen(stream, increment)

    def _check_known(self, stream: int) -> None:
        """Refuse a frame on a stream that was never opened; one that has ended may be late."""
        if stream > self._last or stream == 0:
            raise Broken(Fault.PROTOCOL_ERROR, f"stream {stream} is not open")


def _check_size(payload: bytes, size: int) -> None:
    if len(payload) != size:
        raise Broken(Fault.FRAME_SIZE_ERROR, f"{len(payload)} bytes, not {size}")
