"""The open channels of one process, and the one place where a call of gRPC is made."""

import asyncio
import random
from collections.abc import Callable

from injector.delivery.address import Address
from injector.delivery.channel import Around, CallFailed, Channel, bare
from injector.delivery.credentials import AccessToken, Credentials, Metadata
from injector.delivery.grpc_channel import GrpcChannel
from injector.delivery.http2_channel import Http2Channel
from injector.delivery.limited import Turns
from injector.delivery.ports import NO_TOKEN, OUT_OF_TIME
from injector.delivery.proxies import proxied
from injector.errors import Misused, Retryable
from injector.pacing.limiter import call_timeout_s

LONGEST_S = 29.8
"""What a call may take at most: gRPC rounds what it sends up to the next tenth of a second, and
Cloud Tasks refuses more than 30 s, with every call."""


class Line:
    """The open channels of one process, with the turns on them; used on its loop only."""

    def __init__(
        self, address: Address, load: Callable[[], Credentials], around: Around = bare
    ) -> None:
        channels = range(address.channels)
        self._channels = [around(_open_channel(address, number)) for number in channels]
        self._turn = 0
        self._token = None if address.emulated else AccessToken(load, draw=random.random)
        self._now = asyncio.get_running_loop().time
        self.closed = False
        self.turns = Turns(address.width)

    async def call(
        self, path: str, request: bytes, *, about: Metadata, deadline: float, most_s: float
    ) -> bytes:
        """Send a serialized request and return the serialized answer.

        What the call may take counts from here, where it leaves. Every other end than OK is
        raised as CallFailed, and no error of gRPC gets past this place.
        """
        token = await self._authorization() if self._token else ()
        if self.closed:
            raise CallFailed("CANCELLED", "the connection was closed")
        timeout = call_timeout_s(deadline - self._now(), most_s=min(most_s, LONGEST_S))
        if not timeout:
            raise CallFailed(OUT_OF_TIME, "the time for it was over before it was sent")
        try:
            return await self._next().invoke(
                path, request, timeout_s=timeout, about=about, token=token
            )
        except CallFailed as error:
            if error.code == "UNAUTHENTICATED" and self._token and self._token.refused(token):
                raise CallFailed(NO_TOKEN, str(error)) from error
            raise

    async def close(self) -> None:
        """End all calls, close the channels and forget them."""
        self.closed = True
        while self._channels:
            await self._channels.pop().close()

    def _next(self) -> Channel:
        """Return the next channel in turn."""
        self._turn += 1
        return self._channels[self._turn % len(self._channels)]

    async def _authorization(self) -> Metadata:
        assert self._token
        try:
            return await self._token.metadata()
        except Retryable as error:
            raise CallFailed(NO_TOKEN, str(error)) from error
        except Misused as error:
            raise CallFailed("UNAUTHENTICATED", str(error)) from error


def _open_channel(address: Address, number: int) -> Channel:
    """Open a channel of ours, or gRPC's where that is asked for or has to find its way."""
    if address.by_grpc or proxied(address):
        return GrpcChannel(address, number)
    return Http2Channel(address)
