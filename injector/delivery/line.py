"""The open channels of one process, and the one place where a call of gRPC is made."""

import asyncio
import functools
import random
from collections.abc import Callable
from importlib.metadata import version
from itertools import cycle

import grpc

from injector.delivery.address import Address
from injector.delivery.credentials import AccessToken, Credentials, Metadata
from injector.delivery.limited import Turns
from injector.delivery.ports import NO_TOKEN, OUT_OF_TIME
from injector.errors import InjectorError, Misused, Retryable
from injector.pacing.limiter import call_timeout_s

LONGEST_S = 29.8
"""What a call may take at most: gRPC rounds what it sends up to the next tenth of a second, and
Cloud Tasks refuses more than 30 s, with every call."""

Invoke = Callable[..., grpc.aio.UnaryUnaryCall]
"""A method of a channel: takes the serialized request, `timeout` and `metadata`."""


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
        if self.closed:
            raise CallFailed("CANCELLED", "the connection was closed")
        token = await self._authorization() if self._token else ()
        timeout = call_timeout_s(deadline - self._now(), most_s=min(most_s, LONGEST_S))
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

    @property
    def closed(self) -> bool:
        """Say whether this line is of no more use."""
        return not self._channels

    async def close(self) -> None:
        """End all calls, close the channels and forget them: gRPC stops with the last one."""
        self._methods.clear()
        while self._channels:
            await self._channels.pop().close()

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
