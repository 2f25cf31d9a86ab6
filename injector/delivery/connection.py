"""This process's one way to the service.

An open channel does not survive a fork: a child that inherits one of gRPC's crashes or waits for
ever, and with one of ours it would write into its parent's connection. So nothing is opened before
the first call, whatever is open is closed before a fork, and parent and child each open their own
when they next need it.
"""

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import TypeVar

from injector.delivery.address import Address
from injector.delivery.channel import Around, bare
from injector.delivery.credentials import Credentials, application_default
from injector.delivery.line import Line
from injector.delivery.loop import LoopThread
from injector.errors import Retryable

T = TypeVar("T")


class Connection:
    """Opens the line when it is first needed, and runs work on it."""

    def __init__(
        self,
        address: Address,
        credentials: Callable[[], Credentials] = application_default,
        around: Around = bare,
    ) -> None:
        self.address = address
        self._credentials = credentials
        self._around = around
        self._open: tuple[LoopThread, Line] | None = None
        self.renew_lock()

    def run(self, work: Callable[[Line], Coroutine[object, object, T]]) -> T:
        """Do the work on the loop and wait for it.

        Raises Retryable if the connection is closed meanwhile.
        """
        loop, line = self._opened()
        future = loop.submit(work(line))
        try:
            return future.result()
        except CancelledError as error:
            raise Retryable("the connection was closed") from error
        finally:
            future.cancel()

    def close(self) -> None:
        """Let go of the channels and the thread; the next call opens new ones."""
        with self._lock:
            self._close()

    def before_fork(self) -> None:
        """Close, and keep everyone from opening until the fork is over."""
        self._lock.acquire()
        self._close()

    def after_fork(self) -> None:
        """Let the parent open again."""
        self._lock.release()

    def renew_lock(self) -> None:
        """Forget in a child who held the lock: threads do not come along."""
        self._lock = threading.Lock()

    def _close(self) -> None:
        opened, self._open = self._open, None
        if opened:
            loop, line = opened
            loop.submit(line.close()).result()
            loop.close()

    async def _open_line(self) -> Line:
        return Line(self.address, self._credentials, self._around)

    def _opened(self) -> tuple[LoopThread, Line]:
        with self._lock:
            if not self._open:
                _FORKS.watch(self)
                loop = LoopThread()
                line = loop.submit(self._open_line()).result()
                self._open = loop, line
            return self._open


class _Forks:
    """Sees to it that no fork finds a connection open, nor the end of the process."""

    def __init__(self) -> None:
        self._connections: weakref.WeakSet[Connection] = weakref.WeakSet()
        self._held: list[Connection] = []
        self._watching = False

    def watch(self, connection: Connection) -> None:
        """Look after the connection from here on."""
        self._connections.add(connection)
        if not self._watching:
            self._watching = True
            os.register_at_fork(
                before=self._before, after_in_parent=self._in_parent, after_in_child=self._in_child
            )
            atexit.register(self._at_exit)

    def _before(self) -> None:
        self._held = list(self._connections)
        for connection in self._held:
            connection.before_fork()

    def _in_parent(self) -> None:
        while self._held:
            self._held.pop().after_fork()

    def _in_child(self) -> None:
        while self._held:
            self._held.pop().renew_lock()

    def _at_exit(self) -> None:
        for connection in list(self._connections):
            connection.close()


_FORKS = _Forks()
