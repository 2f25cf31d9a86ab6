"""One client's connection: its calls are handled, and their answers written."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import cast

from injector.emulator.rpc import Converse, Dropped, Handle
from injector.emulator.transport.conversations import Conversations, end_of
from injector.emulator.transport.deadline import seconds
from injector.emulator.transport.heads import Head
from injector.emulator.transport.messages import unpack
from injector.emulator.transport.session import Asked, Session, Streaming
from injector.http2.frame_reader import NotHttp2
from injector.http2.frames import Broken, goaway

_NOT_HTTP2 = (
    b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 35\r\n\r\n"
    b"This port speaks gRPC over HTTP/2.\n"
)


class Connection(asyncio.Protocol):
    """Joins a client's bytes to the calls' handler.

    All that one read brings is handled before anything is written, and the answers leave in one
    write. A client that does not read what it is sent is not read from either.
    """

    def __init__(
        self,
        handle: Handle,
        *,
        max_streams: int,
        among: set["Connection"],
        streams: Mapping[str, Converse],
    ) -> None:
        self._handle = handle
        self._among = among
        self._session = Session(
            ask=self._ask,
            forget=self._forget,
            max_streams=max_streams,
            streaming=Streaming(streams, self._hear),
        )
        self._talks = Conversations(streams, self._session, flush=self._flush, drop=self._drop)
        self._later: dict[int, asyncio.Task[None]] = {}
        self._leaving = self._eof = self._silent = False
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the client's greeting; ours, too, leaves only if it speaks HTTP/2."""
        self._transport = cast("asyncio.Transport", transport)
        self._among.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Give up the calls whose answers nobody waits for.

        What holds itself would stay for ever: the collector leaves alone what it has frozen.
        """
        for task in self._later.values():
            task.cancel()
        self._talks.close()
        self._session.close()
        self._among.discard(self)
        self.closed.set()

    def eof_received(self) -> bool:
        """Answer what was asked, then close: the client will ask nothing more."""
        self._leaving = self._eof = True
        self._flush()
        return self._transport.can_write_eof()

    def pause_writing(self) -> None:
        """Read no more until the client has read."""
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        """Read on."""
        self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        """Handle all the calls that `data` makes whole."""
        try:
            self._session.receive(data)
        except NotHttp2:
            self._session.out.clear()
            self._close(_NOT_HTTP2)
        except Broken as broken:
            self._close(goaway(self._session.last_stream, broken.fault, broken.why))
        except Dropped:
            self._drop()
        else:
            self._talks.moved()
            self._flush()

    def leave(self) -> None:
        """Take no new calls, and close when those under way have ended."""
        self._leaving = True
        self._session.leave()
        self._talks.leave()
        self._flush()

    def abort(self) -> None:
        """Close at once."""
        self._transport.abort()

    def _ask(self, asked: list[Asked]) -> None:
        """Handle calls, then answer those that can be."""
        answered: list[tuple[int, bytes]] = []
        try:
            for stream, head, body in asked:
                answer = self._answer_to(stream, head, body)
                if answer is not None:
                    answered.append((stream, answer))
        finally:
            for stream, answer in answered:
                self._session.answer(stream, answer)

    def _answer_to(self, stream: int, head: Head, body: bytes) -> bytes | None:
        """Return the answer to a call; None if it failed, or is answered later."""
        try:
            answer = self._handle(head.method, unpack(body, head.encoding), head.metadata)
        except Dropped:
            raise
        except Exception as error:  # noqa: BLE001  # a fault of ours must not end the process
            self._session.fail(stream, end_of(error, head.method))
            return None
        if isinstance(answer, bytes):
            return answer
        self._later[stream] = asyncio.create_task(self._wait(stream, head, answer))
        return None

    async def _wait(self, stream: int, head: Head, answer: Awaitable[bytes]) -> None:
        try:
            async with asyncio.timeout(seconds(head.metadata.get("grpc-timeout", ""))):
                self._session.answer(stream, await answer)
        except Dropped:
            self._drop()
        except Exception as error:  # noqa: BLE001  # a fault of ours must not end the process
            self._session.fail(stream, end_of(error, head.method))
        finally:
            del self._later[stream]
        self._flush()

    def _hear(self, stream: int, head: Head, message: bytes | None) -> None:
        self._talks.hear(stream, head, message)

    def _forget(self, stream: int) -> None:
        self._talks.forget(stream)
        if task := self._later.get(stream):
            task.cancel()

    def _flush(self) -> None:
        self._write_out()
        if self._leaving and self._session.idle:
            self._hang_up()

    def _write_out(self) -> None:
        if self._session.out and not self._silent and not self._transport.is_closing():
            self._transport.write(b"".join(self._session.out))
        self._session.out.clear()

    def _hang_up(self) -> None:
        """Close so that the client still reads what was written: it closes its side first."""
        self._silent = True
        try:
            if self._eof:
                self._transport.close()
            else:
                self._transport.write_eof()
        except (OSError, NotImplementedError):  # the client was faster, or speaks TLS
            self._transport.close()

    def _close(self, last_words: bytes) -> None:
        self._session.out.append(last_words)
        self._write_out()
        self._transport.close()

    def _drop(self) -> None:
        self._write_out()
        self._transport.abort()
