"""Connections to targets that wait for their next request."""

import asyncio
from collections import deque

from injector.emulator.transport.http1 import Origin
from injector.emulator.transport.target_connection import TargetConnection

MOST_IDLE_S = 1.0
"""Less than any server waits for the next request (gunicorn: 2 s), so that none is sent into a
closing connection; in real time, since that is what targets live in."""


class ConnectionPool:
    """Gives out the connection that was used last, and closes what nobody took for a while."""

    def __init__(self, *, most_idle_s: float = MOST_IDLE_S) -> None:
        self._most_idle_s = most_idle_s
        self._idle: dict[Origin, deque[TargetConnection]] = {}
        self._sweep: asyncio.TimerHandle | None = None

    def take(self, origin: Origin) -> TargetConnection | None:
        """Return a connection that is still open; None if there is none."""
        idle = self._idle.get(origin)
        while idle:
            connection = idle.pop()
            if connection.is_quiet():
                return connection
            connection.close()
        return None

    def give(self, origin: Origin, connection: TargetConnection) -> None:
        """Keep a connection for the next request, or close it."""
        if not connection.reusable:
            connection.close()
            return
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        self._idle.setdefault(origin, deque()).append(connection)
        if self._sweep is None:
            self._sweep = loop.call_later(self._most_idle_s, self._sweep_up, loop)

    def close(self) -> None:
        """Close all."""
        if self._sweep:
            self._sweep.cancel()
        self._close_idle_before(float("inf"))

    def _sweep_up(self, loop: asyncio.AbstractEventLoop) -> None:
        self._close_idle_before(loop.time() - self._most_idle_s)
        waits = self._most_idle_s / 2
        self._sweep = loop.call_later(waits, self._sweep_up, loop) if self._idle else None

    def _close_idle_before(self, moment: float) -> None:
        for origin, idle in tuple(self._idle.items()):
            while idle and (idle[0].idle_since <= moment or not idle[0].reusable):
                idle.popleft().close()
            if not idle:
                del self._idle[origin]
