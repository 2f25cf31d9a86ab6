"""A call as the emulator's core sees it, whatever carries it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from enum import IntEnum

from injector.errors import InjectorError


class Code(IntEnum):
    """The gRPC status codes."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class RpcError(InjectorError):
    """A call is answered with a status other than OK.

    `details` is a serialized google.rpc.Status, sent as `grpc-status-details-bin`; empty means
    that there is none.
    """

    def __init__(self, code: Code, message: str = "", details: bytes = b"") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class Dropped(InjectorError):
    """The call gets no answer: its connection is closed, as when a server dies."""


Handle = Callable[[str, bytes, Mapping[str, str]], bytes | Awaitable[bytes]]
"""Take a method's full path, the serialized request and the metadata; answer the serialized
response.

It runs on the server's event loop, one call at a time, so what it changes is changed whole. It
raises RpcError or Dropped. An answer that is to come later is an awaitable, which may raise the
same; one that never ends is a lost answer. The awaitable is cancelled when the caller gives up,
its deadline passes, or the server stops. Metadata keys are lower case; the caller's deadline is
there as `grpc-timeout`, in gRPC's own notation.
"""

Converse = Callable[[AsyncIterator[bytes], Mapping[str, str]], AsyncGenerator[bytes]]
"""Take a caller's messages as they come and the metadata; answer messages as they come.

This is a call that streams both ways, under the same terms as Handle. The caller's messages end
when it will send no more; the answers' end is the call's. The iterator is closed when the caller
gives up, its deadline passes, or the server stops.
"""
