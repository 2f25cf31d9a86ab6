"""This process's one way to the service.

gRPC's asyncio half does not survive a fork: a child that inherits an open channel crashes or
waits for ever. So nothing is opened before the first call, whatever is open is closed before a
fork, and parent and child each open their own when they next need it.
"""

import asyncio
import atexit
import functools
import os
import random
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from dataclasses import dataclass
from importlib.metadata import version
from itertools import cycle
from typing import TypeVar

import grpc

from injector.delivery.address import EMULATOR_PORT, SERVICE, SERVICE_PORT, parse_address
from injector.delivery.credentials import (
    AccessToken,
    Credentials,
    Metadata,
    application_default,
)
from injector.delivery.limited import Turns
from injector.delivery.loop import LoopThread
from injector.delivery.ports import NO_TOKEN, OUT_OF_TIME
from injector.errors import InjectorError, Misused, Retryable
from injector.pacing.limiter import call_timeout_s

T = TypeVar("T")

Invoke = Callable[..., grpc.aio.UnaryUnaryCall]
"""A method of a channel: takes the serialized request, `timeout` and `metadata`."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the service is, and how wide the way to it may be.

    With an `emulator_host` the channel is plain and carries no credentials. `streams` is how
    many calls the server lets run at once on one of the `channels`: more would wait inside
    gRPC, unseen and with their deadline running. `root_certificates` (PEM) are trusted in place
    of the well-known ones where given.
    """

    service: str = SERVICE
    emulator_host: str = ""
    channels: int = 1
    streams: int = 100
    root_certificates: bytes = b""

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


class CallFailed(InjectorError):
    """A call ended with another status than OK, or was not sent; `code` says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Line:
    """The open channels of one process, with the turns on them; used on its loop only."""

    def __init__(self, address: Address, load: Callable[[], Credentials]) -> None:
        self._channels = [_open_channel(address, number) for number in range(address.channels)]
        self._methods: dict[str, Callable[[], Invoke]] = {}
        self._token = None if address.emulated else AccessToken(load, draw=random.random)
        self._now = asyncio.get_running_loop().time
        self.turns = Turns(address.width)

    async def call(
        self, path: str, request: bytes, *, about: Metadata, deadline: float, most_s: float
    ) -> bytes:
        """Send a serialized request and return the serialized answer.

        What the call may take counts from here, where it leaves. Every other end than OK is
        raised as CallFailed, and no error of gRPC gets past this place.
        """
        token = await self._authorization() if self._token else ()
        timeout = call_timeout_s(deadline - self._now(), most_s=most_s)
        if not timeout:
            raise CallFailed(OUT_OF_TIME, "the time for it was over before it was sent")
        try:
            answer: bytes = await self._next(path)(
                request, timeout=timeout, metadata=_headers(about, token)
            )
        except grpc.aio.AioRpcError as error:
            code = self._code(error.code().name, token)
            raise CallFailed(code, error.details() or "") from error
        except asyncio.CancelledError as error:
            if _being_cancelled():
                raise
            raise CallFailed("CANCELLED", "cancelled by the service or a closed line") from error
        return answer

    async def close(self) -> None:
        """End all calls and close the channels."""
        for channel in self._channels:
            await channel.close()

    def _next(self, path: str) -> Invoke:
        """Return the method on the next channel in turn."""
        if path not in self._methods:
            invokes = [channel.unary_unary(path) for channel in self._channels]
            self._methods[path] = cycle(invokes).__next__
        return self._methods[path]()

    async def _authorization(self) -> Metadata:
        assert self._token
        try:
            return await self._token.metadata()
        except Retryable as error:
            raise CallFailed(NO_TOKEN, str(error)) from error
        except Misused as error:
            raise CallFailed("UNAUTHENTICATED", str(error)) from error

    def _code(self, code: str, token: Metadata) -> str:
        """Tell a token that was revoked, where a new one may help, from one of no use."""
        if code == "UNAUTHENTICATED" and self._token and self._token.refused(token):
            return NO_TOKEN
        return code


class Connection:
    """Opens the line when it is first needed, and runs work on it."""

    def __init__(
        self, address: Address, credentials: Callable[[], Credentials] = application_default
    ) -> None:
        self.address = address
        self._credentials = credentials
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
                self._open = loop, loop.submit(_open_line(self.address, self._credentials)).result()
            return self._open


async def _open_line(address: Address, credentials: Callable[[], Credentials]) -> Line:
    return Line(address, credentials)


@functools.lru_cache(8192)
def _headers(about: Metadata, token: Metadata) -> grpc.aio.Metadata:
    return grpc.aio.Metadata(*about, *token)


def _being_cancelled() -> bool:
    """Tell our own cancelling from a call that the other side cancelled."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _open_channel(address: Address, number: int) -> grpc.aio.Channel:
    """Open a channel whose number keeps it from sharing another's connection.

    No keepalive pings are asked for: servers answer the eager with GOAWAY and
    ENHANCE_YOUR_CALM, and a call that meets a dead connection is simply sent again. That is our
    own layer's work; gRPC's would be a second one, and costs a tenth of each call.
    """
    options = [
        ("injector.channel", number),
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.enable_retries", 0),
        ("grpc.service_config_disable_resolution", 1),
        ("grpc.primary_user_agent", f"cloud-tasks-injector/{version('cloud-tasks-injector')}"),
    ]
    if address.emulated:
        return grpc.aio.insecure_channel(address.target(), options)
    trusted = grpc.ssl_channel_credentials(address.root_certificates or None)
    return grpc.aio.secure_channel(address.target(), trusted, options)


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
