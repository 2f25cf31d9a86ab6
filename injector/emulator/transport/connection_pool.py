"""Connections to targets: which to use next, and when to open another."""

import asyncio
import ssl
from collections import deque
from dataclasses import dataclass, field

from injector.emulator.transport.http1 import Origin
from injector.emulator.transport.target_connection import TargetConnection

MOST_IDLE_S = 1.0
"""Less than any server waits for the next request (gunicorn: 2 s), so that none is sent into a
closing connection; in real time, since that is what targets live in."""

_MOST_OPENING = 16
_BREATH_S = 0.004
"""Between the opening of two connections in the same turn: time for others to come free."""


@dataclass(slots=True)
class _Place:
    """An origin's connections: idle ones, the oldest first; those who wait; how many open."""

    idle: deque[TargetConnection] = field(default_factory=deque)
    waiting: deque[asyncio.Future[TargetConnection | None]] = field(default_factory=deque)
    opening: int = 0


class ConnectionPool:
    """Gives out the connection that was used last, and closes what nobody took for a while.

    When thousands of attempts are due at once, they do not open thousands of connections to a
    target that answers in a millisecond: only some are being opened at a time, and who waits
    takes what comes first, a connection that another gives back or its turn to open one. Still
    4,000 can be opened in a second to each target, far more than slow ones need.
    """

    def __init__(
        self, *, most: int, most_idle_s: float = MOST_IDLE_S, tls: ssl.SSLContext | None = None
    ) -> None:
        self._most = most
        self._most_idle_s = most_idle_s
        self._tls = tls
        self._places: dict[Origin, _Place] = {}
        self._used = self._idle = 0
        self._sweep: asyncio.TimerHandle | None = None

    async def take(self, origin: Origin) -> TargetConnection:
        """Return an open connection; raises OSError or ValueError if there can be none."""
        place = self._places.setdefault(origin, _Place())
        self._used += 1
        try:
            return self._idle_one(place) or await self._wait(place) or await self._open(origin)
        except BaseException:
            self._used -= 1
            raise

    def give(self, origin: Origin, connection: TargetConnection) -> None:
        """Hand a connection on, keep it for the next request, or close it."""
        self._used -= 1
        if not connection.reusable:
            connection.close()
            return
        place = self._places.setdefault(origin, _Place())
        if not _resolve(place, connection):
            self._keep(place, connection)

    def close(self) -> None:
        """Close all that are idle."""
        if self._sweep:
            self._sweep.cancel()
        self._close_idle_before(float("inf"))

    def _idle_one(self, place: _Place) -> TargetConnection | None:
        while place.idle:
            connection = place.idle.pop()
            self._idle -= 1
            if connection.is_quiet():
                return connection
            connection.close()
        return None

    async def _wait(self, place: _Place) -> TargetConnection | None:
        """Wait for a connection, or (None) for the turn to open one."""
        if place.opening < _MOST_OPENING:
            place.opening += 1
            return None
        turn: asyncio.Future[TargetConnection | None] = asyncio.get_running_loop().create_future()
        place.waiting.append(turn)
        try:
            return await turn
        except asyncio.CancelledError:
            self._return(place, turn)
            raise

    def _return(self, place: _Place, turn: asyncio.Future[TargetConnection | None]) -> None:
        """Hand on what came to one who was cancelled in the same moment."""
        if turn.cancelled():
            return
        connection = turn.result()
        if connection is None:
            _pass_turn_on(place)
        elif not _resolve(place, connection):
            self._keep(place, connection)

    async def _open(self, origin: Origin) -> TargetConnection:
        place = self._places.setdefault(origin, _Place())
        loop = asyncio.get_running_loop()
        if self._used + self._idle > self._most:
            self._close_oldest()
        try:
            _, connection = await loop.create_connection(
                TargetConnection,
                origin.host,
                origin.port,
                ssl=self._context() if origin.scheme == "https" else None,
            )
            return connection
        finally:
            loop.call_later(_BREATH_S, _pass_turn_on, place)

    def _context(self) -> ssl.SSLContext:
        self._tls = self._tls or ssl.create_default_context()
        return self._tls

    def _keep(self, place: _Place, connection: TargetConnection) -> None:
        loop = asyncio.get_running_loop()
        connection.idle_since = loop.time()
        place.idle.append(connection)
        self._idle += 1
        if self._sweep is None:
            self._sweep = loop.call_later(self._most_idle_s, self._sweep_up, loop)

    def _sweep_up(self, loop: asyncio.AbstractEventLoop) -> None:
        self._close_idle_before(loop.time() - self._most_idle_s)
        again_s = self._most_idle_s / 2
        self._sweep = loop.call_later(again_s, self._sweep_up, loop) if self._idle else None

    def _close_idle_before(self, moment: float) -> None:
        for origin, place in tuple(self._places.items()):
            while place.idle and place.idle[0].idle_since <= moment:
                place.idle.popleft().close()
                self._idle -= 1
            if not place.idle and not place.waiting and not place.opening:
                del self._places[origin]

    def _close_oldest(self) -> None:
        idle = [place for place in self._places.values() if place.idle]
        if idle:
            min(idle, key=lambda place: place.idle[0].idle_since).idle.popleft().close()
            self._idle -= 1


def _resolve(place: _Place, what: TargetConnection | None) -> bool:
    """Give the one who waits longest what came; tell whether anyone did."""
    while place.waiting:
        turn = place.waiting.popleft()
        if not turn.done():
            turn.set_result(what)
            return True
    return False


def _pass_turn_on(place: _Place) -> None:
    """Let the next one open a connection, now that another has been opened or could not."""
    if not _resolve(place, None):
        place.opening -= 1
