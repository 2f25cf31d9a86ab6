"""What hedging needs of google-cloud-pubsub beneath its public face, in one place."""

import copy
import time
from collections.abc import Callable, Iterator
from functools import partial
from math import inf
from typing import Any

from google.api_core import gapic_v1, grpc_helpers
from google.api_core.retry import Retry, exponential_sleep_generator, retry_target

from injector.errors import Misused
from injector.publishing.calls import Calls

Target = Callable[..., Any]
Retrying = Callable[[Target], Target]
"""Puts retries around a call, as a Retry does."""


def put_under(transport: Any) -> Calls:  # noqa: ANN401  # a gapic transport, which has no types
    """Put Calls beneath a transport's publish method, with its retries and headers as they are.

    Raises Misused for a transport that is not gRPC's: its calls cannot be cancelled.
    """
    stub = transport.publish
    if not hasattr(stub, "future"):
        raise Misused(f"hedging needs the transport 'grpc', not {transport.kind!r}")
    calls = Calls(stub)
    wrapped = copy.copy(transport._wrapped_methods[stub])  # noqa: SLF001  # as the client itself does
    wrapped._target = grpc_helpers.wrap_errors(calls)  # noqa: SLF001  # what it calls innermost
    transport._wrapped_methods[stub] = wrapped  # noqa: SLF001
    return calls


def default_retry(transport: Any) -> Retry | None:  # noqa: ANN401  # a gapic transport
    """Return the retry of publishes that name none."""
    retry: Retry | None = transport._wrapped_methods[transport.publish]._retry  # noqa: SLF001
    return retry


def first_timeout_s(transport: Any, timeout: object) -> float:  # noqa: ANN401  # a gapic transport
    """Return how long the first RPC of a publish may take; infinite if there is no limit."""
    if timeout is gapic_v1.method.DEFAULT:
        timeout = transport._wrapped_methods[transport.publish]._timeout  # noqa: SLF001
    for name in ("_timeout", "_initial"):  # of api_core's kinds of time-outs
        timeout = getattr(timeout, name, timeout)
    return float(timeout) if isinstance(timeout, int | float) else inf


def total_timeout_s(retry: Retry | None, first_s: float) -> float:
    """Return how long a publish may take with its retries; infinite if there is no limit."""
    if retry is None:
        return first_s
    return inf if retry.timeout is None else float(retry.timeout)


def retrying(retry: Retry | None, wait: Callable[[float], None]) -> Retrying | None:
    """Return a retry whose back-offs are spent in `wait`, which may end them early."""
    if retry is None:
        return None

    def around(target: Target) -> Target:
        def call(*args: object, **options: object) -> object:
            until = inf if retry.timeout is None else time.monotonic() + retry.timeout
            return retry_target(
                partial(target, *args, **options),
                retry._predicate,  # noqa: SLF001
                _backoffs(retry, wait, until),
                timeout=retry.timeout,
                on_error=retry._on_error,  # noqa: SLF001
            )

        return call

    return around


def _backoffs(retry: Retry, wait: Callable[[float], None], until: float) -> Iterator[float]:
    """Spend the back-offs, and yield none; but yield one that would outlast the time-out.

    `until` is when that is over, which the first call begins.
    """
    plain = exponential_sleep_generator(retry._initial, retry._maximum, retry._multiplier)  # noqa: SLF001
    for seconds in plain:
        if time.monotonic() + seconds > until:
            yield seconds
        wait(seconds)
        yield 0.0
