"""The client that dispatches: an attempt goes out over HTTP/1.1, and always has an end."""

import asyncio
import ssl

from injector.emulator.transport import http1, open_files
from injector.emulator.transport.attempts import Answer, Attempt, End, Timers
from injector.emulator.transport.connection_pool import MOST_IDLE_S, ConnectionPool
from injector.emulator.transport.http1 import Request
from injector.emulator.transport.redirects import location, redirected
from injector.emulator.transport.target_connection import Reply


class DispatchClient:
    """Sends attempts over connections that it keeps open and whose number it bounds.

    `timers` is the emulator's clock, in which deadlines and latencies count. By default there
    are as many connections as the process may open. Attempts over the
    bound wait their turn, in their order; that wait is no part of either. What a target does
    wrong is an Answer, never an exception.
    """

    def __init__(
        self,
        *,
        timers: Timers | None = None,
        most_connections: int | None = None,
        most_idle_s: float = MOST_IDLE_S,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        most = most_connections or open_files.most_connections()
        self._timers = timers or asyncio.get_running_loop()
        self._slots = asyncio.Semaphore(most)
        self._pool = ConnectionPool(most=most, most_idle_s=most_idle_s, tls=tls)

    async def send(self, attempt: Attempt) -> Answer:
        """Send an attempt and return its end; cancelled, it closes its connection."""
        try:
            request = http1.request(attempt)
        except ValueError as error:
            return Answer(End.BROKEN, reason=str(error))
        async with self._slots:
            return await self._within_deadline(attempt, request)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._pool.close()

    async def _within_deadline(self, attempt: Attempt, request: Request) -> Answer:
        started = self._timers.time()
        scope = asyncio.timeout(None)
        try:
            async with scope:
                timer = self._timers.call_later(attempt.deadline_s, lambda: scope.reschedule(0.0))
                try:
                    reply = await self._follow(attempt, request)
                finally:
                    timer.cancel()
        except (OSError, ValueError, OverflowError) as error:
            end = End.TIMED_OUT if scope.expired() else End.BROKEN
            return Answer(end, reason=str(error), latency_s=self._timers.time() - started)
        return Answer(
            End.ANSWERED, reply.status, reply.headers, latency_s=self._timers.time() - started
        )

    async def _follow(self, attempt: Attempt, request: Request) -> Reply:
        reply = await self._ask(request)
        for _ in range(attempt.redirects):
            to = location(reply)
            if to is None:
                break
            attempt = redirected(attempt, reply.status, to)
            reply = await self._ask(http1.request(attempt))
        return reply

    async def _ask(self, request: Request) -> Reply:
        connection = await self._pool.take(request.origin)
        try:
            return await connection.ask(request)
        finally:
            self._pool.give(request.origin, connection)
