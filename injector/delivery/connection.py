"""This process's one way to the service.

gRPC's asyncio half does not survive a fork: a child that inherits an open channel crashes or
waits for ever. So nothing is opened before the first call, whatever is open is closed before a
fork, and parent and child each open their own when they next need it.
"""

import atexit
import functools
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from dataclasses import dataclass
from itertools import cycle
from typing import TypeVar

import grpc

from injector.delivery.address import EMULATOR_PORT, SERVICE, SERVICE_PORT, parse_address
from injector.delivery.loop import LoopThread
from injector.errors import Misused, Retryable

T = TypeVar("T")

Invoke = Callable[..., grpc.aio.UnaryUnaryCall]
"""A method of a channel: takes the serialized request, `timeout` and `metadata`."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service is, and how wide the way to it may be.

    With an `emulator_host` the channel is plain and carries no credentials. `streams` is how
    many calls the server lets run at once on one of the `channels`: more would wait inside
    gRPC, unseen and with their deadline running.
    """

    service: str = SERVICE
    emulator_host: str = ""
    channels: int = 1
    streams: int = 100

    def __post_init__(self) -> None:
        """Refuse what cannot be reached, before the first task is created."""
        self.target()
        if not (1 <= self.channels <= 100 and 1 <= self.streams <= 10_000):
            raise Misused(
                f"channels {self.channels} and streams {self.streams} must be 1 to 100 and"
                " 1 to 10,000"
            )

    @property
    def emulated(self) -> bool:
        """Say whether it is an emulator's; an empty host means that none is set."""
        return bool(self.emulator_host.strip())

    @property
    def width(self) -> int:
        """Return how many calls may be on their way at once."""
        return self.channels * self.streams

    def target(self) -> str:
        """Return what gRPC is to connect to."""
        if self.emulated:
            return parse_address(self.emulator_host, default_port=EMULATOR_PORT)
        return parse_address(self.service, default_port=SERVICE_PORT)


class Line:
    """The open channels of one process, used on its loop only."""

    def __init__(self, address: Address) -> None:
        self._channels = [_open_channel(address, number) for number in range(address.channels)]
        self._methods: dict[str, Callable[[], Invoke]] = {}

    def method(self, path: str) -> Invoke:
        """Return the method of that path, on the next channel in turn."""
        if path not in self._methods:
            invokes = [channel.unary_unary(path) for channel in self._channels]
            self._methods[path] = cycle(invokes).__next__
        return self._methods[path]()

    async def close(self) -> None:
        """End all calls and close the channels."""
        for channel in self._channels:
            await channel.close()


class Connection:
    """Opens the line when it is first needed, and runs work on it."""

    def __init__(self, address: Address) -> None:
        self.address = address
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
            opened, self._open = self._open, None
        if opened:
            loop, line = opened
            loop.submit(line.close()).result()
            loop.close()

    def renew_lock(self) -> None:
        """Forget that another thread held the lock: it does not exist in a child."""
        self._lock = threading.Lock()

    def _opened(self) -> tuple[LoopThread, Line]:
        with self._lock:
            if not self._open:
                _watch()
                _CONNECTIONS.add(self)
                loop = LoopThread()
                self._open = loop, loop.submit(_open_line(self.address)).result()
            return self._open


async def _open_line(address: Address) -> Line:
    return Line(address)


def _open_channel(address: Address, number: int) -> grpc.aio.Channel:
    """Open a channel whose number keeps it from sharing another's connection.

    No keepalive pings are asked for: servers answer the eager with GOAWAY and
    ENHANCE_YOUR_CALM, and a call that meets a dead connection is simply sent again.
    """
    options = [("injector.channel", number), ("grpc.use_local_subchannel_pool", 1)]
    if address.emulated:
        return grpc.aio.insecure_channel(address.target(), options)
    return grpc.aio.secure_channel(address.target(), grpc.ssl_channel_credentials(), options)


_CONNECTIONS: weakref.WeakSet[Connection] = weakref.WeakSet()


@functools.cache
def _watch() -> None:
    os.register_at_fork(before=_close_all, after_in_child=_renew_locks)
    atexit.register(_close_all)


def _close_all() -> None:
    for connection in list(_CONNECTIONS):
        connection.close()


def _renew_locks() -> None:
    for connection in list(_CONNECTIONS):
        connection.renew_lock()
