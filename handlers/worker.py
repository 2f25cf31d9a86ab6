"""How requests are read: by gunicorn's threads, of which a slow caller keeps none for long."""

import socket
import time
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from typing import Protocol

from gunicorn.http.body import ChunkedReader, LengthReader
from gunicorn.workers.gthread import ThreadWorker

READ_WITHIN_S = 20.0
"""How long a request may take to arrive, head and body; what is slow here is a caller's network."""


class Connection(Protocol):
    """What is used of gunicorn's connection."""

    sock: socket.socket


class Request(Protocol):
    """What is used of gunicorn's request."""

    body: object


@dataclass(slots=True)
class _Arrival:
    begun: float
    body: object = None

    def is_whole(self) -> bool:
        match getattr(self.body, "reader", None):
            case LengthReader() as reader:
                return bool(reader.length <= 0)
            case ChunkedReader() as reader:
                return reader.parser is None
        return self.body is not None


class Arrivals:
    """The connections that a thread serves, and since when.

    gunicorn's threads wait for a request's bytes without an end, so as many callers as there are
    threads, each of which sends half of a request, would keep everybody else from being served.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._begun: dict[Connection, _Arrival] = {}

    def begin(self, connection: Connection, *, now: float) -> None:
        """Note that a thread waits for a request."""
        with self._lock:
            self._begun[connection] = _Arrival(now)

    def head(self, connection: Connection, body: object) -> None:
        """Note that the request's head is there, and its `body` may follow."""
        with self._lock:
            self._begun[connection].body = body

    def end(self, connection: Connection) -> None:
        """Note that the thread is free again."""
        with self._lock:
            self._begun.pop(connection, None)

    def cut(self, *, now: float) -> None:
        """End the input of those whose request is late: the thread that waits for it goes on."""
        with self._lock:
            for connection, arrival in self._begun.items():
                if now - arrival.begun >= READ_WITHIN_S and not arrival.is_whole():
                    with suppress(OSError):
                        connection.sock.shutdown(socket.SHUT_RD)


class PromptWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """gunicorn's threads; a request that does not arrive in time is given up."""

    def __init__(self, *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)
        self._arrivals = Arrivals()

    def handle(self, conn: Connection) -> object:
        """Serve one request of the connection, in a thread."""
        self._arrivals.begin(conn, now=time.monotonic())
        try:
            return super().handle(conn)
        finally:
            self._arrivals.end(conn)

    def handle_request(self, req: Request, conn: Connection) -> object:
        """Answer a request whose head is there."""
        self._arrivals.head(conn, req.body)
        return super().handle_request(req, conn)

    def murder_keepalived(self, *arguments: object, **named: object) -> None:
        """Look once a second, as gunicorn does for idle connections."""
        super().murder_keepalived(*arguments, **named)
        self._arrivals.cut(now=time.monotonic())
