"""The client's side of one HTTP/2 connection of gRPC, without the connection: bytes in, frames out.

After RFC 9113, and "gRPC over HTTP2" for what a call's end means.
"""

from collections.abc import Callable
from dataclasses import dataclass

from injector.http2 import frames
from injector.http2.answers import BROKEN_OFF, UNFINISHED, Answer, Meaning, meaning, of_reset, whole
from injector.http2.frame_reader import FrameReader
from injector.http2.frames import END_STREAM, MAX_STREAM, PADDED, Fault, Setting, Type
from injector.http2.header_blocks import BlockReader
from injector.http2.heads import HeadWriter, Metadata
from injector.http2.messages import PREFIX_BYTES
from injector.http2.requests import Requests
from injector.http2.side import Side

MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""The largest answer taken, as by gRPC's own clients."""

_GREETING = (
    frames.PREFACE,
    frames.settings_frame(
        (Setting.ENABLE_PUSH, 0),
        (Setting.INITIAL_WINDOW_SIZE, MAX_ANSWER_BYTES + 64 * 1024),
        (Setting.MAX_HEADER_LIST_SIZE, frames.MAX_HEADER_BYTES),
    ),
    frames.window_update(0, frames.WIDENED_BYTES),
)
"""Streams begin with room for the largest answer, so that none is ever widened."""


@dataclass(slots=True)
class _Call:
    """A call that has not ended: whether its headers were seen, and what came of its answer."""

    seen: bool = False
    body: bytes | bytearray = b""


class ClientSession(Side[Requests]):
    """Keeps a connection's state, and tells `ended` how each call went.

    As many calls may be open at once as the server says: who sends too many is for others to judge.
    """

    def __init__(self, ended: Callable[[int, Answer], None], heads: HeadWriter) -> None:
        super().__init__(FrameReader(preface=False), Requests(*_GREETING))
        self._heads = heads
        self.leaving = False
        self._ended = ended
        self._streams = MAX_STREAM
        self._answers: BlockReader[Meaning] = BlockReader(meaning)
        self._calls: dict[int, _Call] = {}
        self._next = 1

    @property
    def settled(self) -> bool:
        """Tell whether the server has said how it wants to be spoken to."""
        return self._expected is not Type.SETTINGS

    @property
    def room(self) -> int:
        """Return how many more calls may be opened now."""
        return 0 if self.leaving else self._streams - len(self._calls)

    @property
    def open_calls(self) -> int:
        """Return how many calls have not ended."""
        return len(self._calls)

    def open(
        self, path: str, message: bytes, *, shared: Metadata, own: Metadata, timeout_s: float
    ) -> int:
        """Send a request where there is room, and return its stream; see HeadWriter.write.

        Raises Unsendable.
        """
        block = self._heads.write(path, shared, own, timeout_s=timeout_s)
        stream = self._next
        self._next = stream + 2
        self._calls[stream] = _Call()
        self._sent.put(stream, block, message)
        if self._next > MAX_STREAM:
            self.leave()
        return stream

    def cancel(self, stream: int) -> None:
        """Give up a call, if it has not ended; `ended` is not told."""
        if self._calls.pop(stream, None):
            self._sent.drop(stream)
            self.out.append(frames.rst_stream(stream, Fault.CANCEL))

    def ask(self) -> None:
        """Ask the server for a sign of life."""
        self.out.append(frames.frame(Type.PING, 0, 0, b"injector"))

    def leave(self) -> None:
        """Open no more calls; those under way may end."""
        self.leaving = True

    def lose(self, end: Answer) -> None:
        """End all calls alike: the connection is gone."""
        self.leave()
        for stream in tuple(self._calls):
            self._end(stream, end)

    def _end(self, stream: int, answer: Answer) -> None:
        if self._calls.pop(stream, None):
            self._sent.drop(stream)
            self._ended(stream, answer)

    def _stop(self, stream: int, answer: Answer) -> None:
        """End a call of which one of the two sides has more to say."""
        self.out.append(frames.rst_stream(stream, Fault.CANCEL))
        self._end(stream, answer)

    def _data(self, flags: int, stream: int, payload: bytes) -> None:
        self._owe(len(payload))
        call = self._calls.get(stream)
        if call is None:
            self._check_opened(stream)
            return
        if flags & PADDED:
            payload = frames.unpadded(flags & PADDED, payload)
        if call.body:
            call.body = bytearray(call.body) if isinstance(call.body, bytes) else call.body
            call.body += payload
        else:
            call.body = payload
        if not call.seen or flags & END_STREAM:
            self._stop(stream, UNFINISHED)
        elif len(call.body) > MAX_ANSWER_BYTES + PREFIX_BYTES:
            too_large = f"the answer is over {MAX_ANSWER_BYTES} bytes"
            self._stop(stream, Answer("RESOURCE_EXHAUSTED", too_large))

    def _hear(self, flags: int, stream: int, block: bytes) -> None:
        meant = self._answers.read(block)
        call = self._calls.get(stream)
        if call is None:
            self._check_opened(stream)
        elif flags & END_STREAM:
            end = whole(call.body) if meant.ok else meant.end()
            if self._minds(stream):  # a request not all sent would keep its stream open
                self._stop(stream, end)
            else:
                self._end(stream, end)
        elif meant.refusal:
            self._stop(stream, meant.refusal)
        elif call.seen:
            self._stop(stream, UNFINISHED)
        else:
            call.seen = not meant.informational

    def _reset(self, stream: int, fault: int) -> None:
        call = self._calls.get(stream)
        self._end(stream, of_reset(fault, answering=call is not None and call.seen))

    def _agree(self, settings: dict[int, int]) -> None:
        self._streams = settings.get(Setting.MAX_CONCURRENT_STREAMS, self._streams)
        if Setting.HEADER_TABLE_SIZE in settings:
            self._heads.limit_table(settings[Setting.HEADER_TABLE_SIZE])
        super()._agree(settings)

    def _go_away(self, last: int) -> None:
        """Open no more calls, and end those that the server has not looked at."""
        self.leave()
        for unseen in [stream for stream in self._calls if stream > last]:
            self._end(unseen, BROKEN_OFF)

    def _opened(self, stream: int) -> bool:
        return 0 < stream < self._next and stream & 1 == 1
