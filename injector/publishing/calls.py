"""Publish calls that can be cancelled, beneath google-cloud-pubsub's own layers."""

import copy
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

from google.pubsub_v1.types import PublishRequest, PublishResponse

CANCELLED = 1
"""The number of that status, which is what grpc's core takes."""

Cancel = Callable[[], object]
Begun = Callable[[Cancel], None]
"""Told how to cancel an RPC, as soon as it is on its way."""


class Call(Protocol):
    """One RPC on its way, as grpc's futures are."""

    def result(self) -> PublishResponse:
        """Wait for the answer; raises grpc.RpcError, or FutureCancelledError."""

    def cancel(self) -> bool:
        """Cancel it, as best one can."""


class Stub(Protocol):
    """The gRPC method of a transport."""

    def __call__(self, request: PublishRequest, **options: object) -> PublishResponse:
        """Send a request and wait for its answer."""

    def future(self, request: PublishRequest, **options: object) -> Call:
        """Send a request."""


Wire = Callable[..., PublishResponse]
"""Sends a request with `begun` and grpc's options, and waits for its answer.

Raises grpc.RpcError, or FutureCancelledError.
"""


class Send(Protocol):
    """Sends one request of a publish; each time is another RPC."""

    def __call__(self, *, timeout: float | None, begun: Begun) -> PublishResponse:
        """Return its answer within so many seconds; raises as a wire does."""


Attempt = Callable[[Send, float | None], PublishResponse]
"""Make an RPC of a publish in one's own way: given what sends it, and its time-out."""


class Calls:
    """Stands for a transport's publish method; gives each RPC to the thread's attempt.

    A thread without one sends it plainly, as if nothing were there.
    """

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._wire = wire_of(stub)
        self._here = threading.local()

    def __call__(
        self, request: PublishRequest, timeout: float | None = None, **options: object
    ) -> PublishResponse:
        """Answer a publish; raises grpc.RpcError."""
        attempt: Attempt | None = getattr(self._here, "attempt", None)
        if attempt is None:
            return self._stub(request, timeout=timeout, **options)
        return attempt(partial(self._wire, request, **options), timeout)

    def carry(self, attempt: Attempt, publish: Callable[[], PublishResponse]) -> PublishResponse:
        """Publish, with this thread's RPCs made by an attempt."""
        self._here.attempt = attempt
        try:
            return publish()
        finally:
            self._here.attempt = None


def wire_of(stub: Stub) -> Wire:
    """Return what sends a stub's requests, by blocking calls where they can be cancelled."""
    innermost: Any = stub
    while hasattr(innermost, "_thunk"):
        innermost = innermost._thunk(innermost._method)  # noqa: SLF001  # below an interceptor
    core = getattr(innermost, "_channel", None)
    return Blocking(stub) if hasattr(core, "segregated_call") else partial(by_future, stub)


def by_future(
    stub: Stub, request: PublishRequest, *, begun: Begun, **options: object
) -> PublishResponse:
    """Answer a publish through grpc's future, which any channel has."""
    call = stub.future(request, **options)
    begun(call.cancel)
    return call.result()


class Blocking:
    """Answers by grpc's blocking calls, which cost a third to half of what its futures do.

    A future is answered by a thread of the channel, which grpc starts anew for each call that
    finds none under way. A blocking call has no face to cancel it by; its core has, as grpc's
    own single-threaded streams use it.
    """

    def __init__(self, stub: Stub) -> None:
        self._here = threading.local()
        self._stub: Stub = self._telling(copy.copy(stub))

    def __call__(
        self, request: PublishRequest, *, begun: Begun, **options: object
    ) -> PublishResponse:
        """Answer a publish; raises grpc.RpcError."""
        self._here.begun = begun
        try:
            return self._stub(request, **options)
        finally:
            self._here.begun = None

    def _telling(self, stub: Any) -> Any:  # noqa: ANN401  # a stub of any depth
        if hasattr(stub, "_thunk"):
            thunk = stub._thunk  # noqa: SLF001  # makes a stub anew for each call
            stub._thunk = lambda method: self._telling(thunk(method))  # noqa: SLF001
        else:
            stub._channel = _Core(stub._channel, self._here)  # noqa: SLF001
        return stub


class _Core:
    """Begins a channel's blocking calls, and tells the thread how to cancel its own."""

    def __init__(self, channel: Any, here: threading.local) -> None:  # noqa: ANN401  # cygrpc's
        self._channel = channel
        self._here = here

    def segregated_call(self, *args: object) -> object:
        call = self._channel.segregated_call(*args)
        self._here.begun(partial(call.cancel, CANCELLED, "another attempt has answered"))
        return call
