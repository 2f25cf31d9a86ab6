"""One connection to a target: a request leaves, and an answer is made of what comes."""

import asyncio
import select
from dataclasses import dataclass
from typing import cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from injector.emulator.transport.http1 import Request

MOST_HEAD_BYTES = 256 * 1024
MOST_BODY_BYTES = 32 * 1024 * 1024
"""Nobody reads an answer's body; one that is longer is cut off, and its status counts."""

_SWITCHING_PROTOCOLS = 101
_FRAMING = frozenset(("content-length", "transfer-encoding"))


@dataclass(frozen=True, slots=True)
class Reply:
    """A target's answer, its body left out."""

    status: int
    headers: tuple[tuple[str, str], ...]


class TargetBroke(ConnectionError):
    """A target closed its connection, or sent what is not HTTP, before its answer was whole."""


class TargetConnection(asyncio.Protocol):
    """Carries one request at a time; `reusable` when it may carry another."""

    def __init__(self) -> None:
        self._parser = HttpResponseParser(self)
        self._done: asyncio.Future[Reply] | None = None
        self._is_head = self._head_whole = False
        self._headers: list[tuple[str, str]] = []
        self._received = 0
        self.reusable = False
        self.idle_since = 0.0

    async def ask(self, request: Request) -> Reply:
        """Send a request and return its answer; raise TargetBroke when there is none."""
        self._is_head, self._received, self.reusable = request.is_head, 0, False
        self._await_head()
        self._done = asyncio.get_running_loop().create_future()
        self._transport.write(request.wire)
        return await self._done

    def is_quiet(self) -> bool:
        """Tell whether the next request may go out: the target has neither closed nor spoken.

        Asks the system, since the loop may not have come to read an end that is already there.
        """
        if not self.reusable or self._transport.is_closing():
            return False
        return not self._poll.poll(0)

    def close(self) -> None:
        """Close at once."""
        self.reusable = False
        self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        self._transport = cast("asyncio.Transport", transport)
        self._poll = select.poll()
        self._poll.register(transport.get_extra_info("socket"), select.POLLIN)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer that only the connection's end delimits; any other is broken off."""
        self.reusable = False
        if self._head_whole and not self._is_framed():
            self._finish()
        else:
            self._fail(f"connection lost: {exc}" if exc else "connection closed before an answer")

    def data_received(self, data: bytes) -> None:
        """Read on in the answer; what nobody asked for ends the connection."""
        if self._done is None or self._done.done():
            self.close()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.close()
        except HttpParserError as error:
            self._fail(f"not an HTTP answer: {error}")
        self._check_size()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header (called by the parser)."""
        if not self._head_whole:
            self._headers.append((name.decode("latin-1"), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        """Be done, if no body follows (called by the parser)."""
        self._head_whole = True
        if self._is_head and self._parser.get_status_code() >= 200:
            self._finish()

    def on_message_complete(self) -> None:
        """Be done, or wait on after an interim answer (called by the parser)."""
        if 100 <= self._parser.get_status_code() < 200 and not self._is_switching():
            self._await_head()
        elif not self._is_head:
            self.reusable = self._parser.should_keep_alive() and not self._is_switching()
            self._finish()

    def _await_head(self) -> None:
        self._head_whole = False
        self._headers = []

    def _is_switching(self) -> bool:
        return bool(self._parser.get_status_code() == _SWITCHING_PROTOCOLS)

    def _is_framed(self) -> bool:
        return any(name.lower() in _FRAMING for name, _ in self._headers)

    def _check_size(self) -> None:
        if not self._head_whole and self._received > MOST_HEAD_BYTES:
            self._fail(f"headers of over {MOST_HEAD_BYTES} bytes")
        elif self._received > MOST_HEAD_BYTES + MOST_BODY_BYTES:
            self._finish()
            self.close()

    def _finish(self) -> None:
        if self._done and not self._done.done():
            status = int(self._parser.get_status_code())
            self._done.set_result(Reply(status, tuple(self._headers)))

    def _fail(self, reason: str) -> None:
        if self._done and not self._done.done():
            self._done.set_exception(TargetBroke(reason))
        self.close()
