"""A way to the service, and how a call over one fails."""

from collections.abc import Callable
from typing import Protocol

from injector.delivery.credentials import Metadata
from injector.errors import InjectorError


class CallFailed(InjectorError):
    """A call ended with another status than OK, or was not sent; `code` says which."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Channel(Protocol):
    """An open channel, used on one loop only."""

    async def invoke(
        self, path: str, request: bytes, *, timeout_s: float, about: Metadata, token: Metadata
    ) -> bytes:
        """Send a serialized request with its metadata, and return the serialized answer.

        Raises CallFailed, and nothing else of its own.
        """

    async def close(self) -> None:
        """End all calls as CANCELLED, and let go of the connection."""


Around = Callable[[Channel], Channel]
"""Puts something around a channel, such as what traces its calls."""


def bare(channel: Channel) -> Channel:
    """Put nothing around a channel."""
    return channel
