"""Publish calls that can be waited for and cancelled, beneath google-cloud-pubsub's own layers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from google.pubsub_v1.types import PublishRequest, PublishResponse


class Call(Protocol):
    """One RPC on its way, as grpc's futures are."""

    def result(self, timeout: float | None = None) -> PublishResponse:
        """Wait for the answer; raises grpc.RpcError, or a time-out of the wait."""

    def cancel(self) -> bool:
        """Cancel it, as best one can."""

    def add_done_callback(self, fn: "Callable[[Call], None]") -> None:
        """Call back at its end."""


class Stub(Protocol):
    """The gRPC method of a transport."""

    def __call__(self, request: PublishRequest, **options: object) -> PublishResponse:
        """Send a request and wait for its answer."""

    def future(self, request: PublishRequest, **options: object) -> Call:
        """Send a request."""


class Send(Protocol):
    """Sends one request of a publish; each time is another RPC."""

    def __call__(self, *, timeout: float | None) -> Call:
        """Send it, with so many seconds to answer."""


Attempt = Callable[[Send, float | None], PublishResponse]
"""Make an RPC of a publish in one's own way: given what sends it, and its time-out."""


class Calls:
    """Stands for a transport's publish method; gives each RPC to the thread's attempt.

    A thread without one sends it plainly, as if nothing were there.
    """

    def __init__(self, stub: Stub) -> None:
        self._stub = stub
        self._here = threading.local()

    def __call__(
        self, request: PublishRequest, timeout: float | None = None, **options: object
    ) -> PublishResponse:
        """Answer a publish; raises grpc.RpcError."""
        attempt: Attempt | None = getattr(self._here, "attempt", None)
        if attempt is None:
            return self._stub(request, timeout=timeout, **options)
        return attempt(partial(self._stub.future, request, **options), timeout)

    @contextmanager
    def carried_by(self, attempt: Attempt) -> Iterator[None]:
        """Let this thread's RPCs be made by an attempt."""
        self._here.attempt = attempt
        try:
            yield
        finally:
            self._here.attempt = None
