"""One HTTP/2 connection on an asyncio loop."""

import asyncio
from collections import deque
from math import inf
from typing import NamedTuple, cast

from injector.delivery.credentials import Metadata
from injector.http2.answers import Answer
from injector.http2.client_session import ClientSession
from injector.http2.frames import Broken, goaway
from injector.http2.heads import HeadWriter
from injector.http2.vigil import Step, Vigil

LATE = Answer("DEADLINE_EXCEEDED", "Deadline Exceeded")
_CLOSED = Answer("CANCELLED", "the connection was closed")


class _Open(NamedTuple):
    """A call under way: who waits for it, when it was sent, and how long it may take."""

    end: asyncio.Future[Answer]
    since: float
    until: float


class Link(asyncio.Protocol):
    """Joins calls to a connection's bytes.

    All calls that begin in one turn of the loop leave in one write. Once it is `leaving`, no
    more may begin, and it closes itself when the last has ended. It is `ready` once the server
    has greeted, with words in place of "" if it never will; `gone` is its end. A server that is
    silent while calls are under way is asked for a sign of life, and left if there is none.
    """

    def __init__(self, heads: HeadWriter, vigil: Vigil) -> None:
        self._session = ClientSession(self._answered, heads)
        self._loop = asyncio.get_running_loop()
        self._open: dict[int, _Open] = {}
        self._queue: deque[asyncio.Future[None]] = deque()
        self._flushing = self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._next_look = inf
        self._heard = self._answered_at = self._busy_since = 0.0
        self._vigil = vigil
        self._watching: asyncio.TimerHandle | None = None
        self.ready: asyncio.Future[str] = self._loop.create_future()
        self.gone: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet the server."""
        self._transport = cast("asyncio.Transport", transport)
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        """End what is still open."""
        why = str(exc or "closed by the server")
        self._lose(f"the connection was lost: {why}")
        self.offer_room()
        for timer in (self._timer, self._watching):
            if timer:
                timer.cancel()
        self.gone.set_result(None)

    def pause_writing(self) -> None:
        """Keep what is to be written until the server has read."""
        self._paused = True

    def resume_writing(self) -> None:
        """Write on."""
        self._paused = False
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Take what the server sent."""
        self._heard = self._loop.time()
        try:
            self._session.receive(data)
        except Broken as broken:
            self._session.out.append(goaway(0, broken.fault, broken.why))
            self._lose(f"the server broke HTTP/2: {broken.why}")
        if not self.ready.done() and self._session.settled:
            self.ready.set_result("")
        self._flush()

    @property
    def leaving(self) -> bool:
        """Tell whether no more calls may begin here."""
        return self._session.leaving

    @property
    def idle_s(self) -> float:
        """Return for how many seconds nothing has been heard while no call was under way."""
        return 0.0 if self._open else self._loop.time() - self._heard

    def leave(self) -> None:
        """Let no more calls begin, and close when the last has ended."""
        self._session.leave()
        self._flush()

    def begin(
        self, path: str, request: bytes, *, timeout_s: float, about: Metadata, token: Metadata
    ) -> tuple[int, asyncio.Future[Answer]]:
        """Send a call where there is `room`; return its number, and what becomes of it.

        Raises Unsendable.
        """
        stream = self._session.open(path, request, shared=token, own=about, timeout_s=timeout_s)
        since, end = self._loop.time(), self._loop.create_future()
        until = since + timeout_s
        if not self._open:
            self._busy_since = since
        self._open[stream] = _Open(end, since, until)
        if self._watching is None:
            self._watch()
        if until < self._next_look:
            self._look_at(until)
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)
        return stream, end

    @property
    def room(self) -> int:
        """Return how many calls may begin now."""
        return self._session.room

    async def some_room(self) -> None:
        """Wait until a call may begin, or none may any more.

        Whoever then begins none calls `offer_room`.
        """
        if self.leaving:
            return
        turn: asyncio.Future[None] = self._loop.create_future()
        self._queue.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn in self._queue:
                self._queue.remove(turn)
            self.offer_room()
            raise

    def give_up(self, stream: int) -> None:
        """Cancel a call."""
        if self._open.pop(stream, None):
            self._session.cancel(stream)
            self._flush()

    def close(self) -> None:
        """End all calls as CANCELLED, and the connection."""
        self._session.lose(_CLOSED)
        if not self.ready.done():
            self.ready.set_result(_CLOSED.text)
        self._transport.abort()

    def _lose(self, why: str) -> None:
        self._session.lose(Answer("UNAVAILABLE", why))
        if not self.ready.done():
            self.ready.set_result(why)

    def _answered(self, stream: int, answer: Answer) -> None:
        self._answered_at = self._heard
        self._vigil.answered()
        self._ended(stream, answer)

    def _ended(self, stream: int, answer: Answer) -> None:
        call = self._open.pop(stream)
        if not call.end.done():
            call.end.set_result(answer)

    def offer_room(self) -> None:
        """Wake as many as may begin a call now, or all where none may any more."""
        for _ in range(len(self._queue) if self.leaving else min(self.room, len(self._queue))):
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(None)

    def _flush(self) -> None:
        self._flushing = False
        if self._session.out and not self._paused and not self._transport.is_closing():
            self._transport.write(b"".join(self._session.out))
            self._session.out.clear()
        if self._queue:
            self.offer_room()
        if self._session.leaving and not self._open:
            self._hang_up()

    def _hang_up(self) -> None:
        """Close, without waiting for a server that reads no more."""
        if self._transport.get_write_buffer_size():
            self._transport.abort()
        else:
            self._transport.close()

    def _look_at(self, when: float) -> None:
        if self._timer:
            self._timer.cancel()
        self._next_look = when
        self._timer = self._loop.call_at(when, self._end_late_calls)

    def _end_late_calls(self) -> None:
        """End the calls whose time is over.

        Where the server has answered none since such a call was sent, it may be gone without a
        farewell, or what it passes calls on to: no more begin here, and the next takes a new
        connection.
        """
        now = self._loop.time()
        for stream, call in [(n, call) for n, call in self._open.items() if call.until <= now]:
            self._session.cancel(stream)
            self._ended(stream, LATE)
            if self._answered_at <= call.since:
                self._session.leave()
        self._next_look, self._timer = inf, None
        if self._open:
            self._look_at(min(call.until for call in self._open.values()))
        self._flush()

    def _watch(self) -> None:
        """Leave a server that gives no sign of life, as long as calls are under way."""
        self._watching = None
        if not self._open:
            return
        heard = max(self._heard, self._busy_since)
        step, wait_s = self._vigil.look(now=self._loop.time(), heard=heard)
        if step is Step.LEAVE:
            self._lose("the connection was lost: the server is silent and answers no ping")
            self._transport.abort()
            return
        if step is Step.ASK:
            self._session.ask()
            self._flush()
        self._watching = self._loop.call_later(wait_s, self._watch)
