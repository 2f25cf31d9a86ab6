"""One publisher's hedging: its rule and bucket shared between threads, and what it counts."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import grpc
from google.api_core.exceptions import GoogleAPIError
from google.api_core.retry import Retry
from google.pubsub_v1.types import PublishResponse

from injector.pacing.hedge import Hedging
from injector.pacing.histogram import SIZE, Histogram, bucket_of
from injector.publishing.calls import Call, Calls, Send
from injector.publishing.race import Original, Race


@dataclass(frozen=True, slots=True)
class HedgingStats:
    """What a publisher's hedging has done so far.

    Hedges `sent`, those of them that `won`, and attempts `cancelled` because another won;
    the `tokens` there are now; how long successful batches took, from send to answer.
    """

    sent: int
    won: int
    cancelled: int
    tokens: float
    latency: Histogram


class Publish(Protocol):
    """Publishes one batch by the client's own layers, with a retry."""

    def __call__(self, *, retry: Retry | None) -> PublishResponse:
        """Return the answer; raises GoogleAPIError."""


class Slow(Exception):
    """The first RPC has not answered within the delay; it goes on."""


class Hedger:
    """Publishes batches, and hedges those that are slow.

    Most answer within the delay: they cost one lock more. The others run a race.
    """

    def __init__(
        self, hedging: Hedging, calls: Calls, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._hedging = hedging
        self._calls = calls
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets = [0] * SIZE
        self._total_us = 0

    @contextmanager
    def rule(self) -> Iterator[Hedging]:
        """Lend the rule to one thread at a time."""
        with self._lock:
            yield self._hedging

    def stats(self) -> HedgingStats:
        """Return what was done so far."""
        with self.rule() as rule:
            latency = Histogram(tuple(self._buckets), self._total_us)
            return HedgingStats(rule.sent, rule.won, rule.cancelled, rule.tokens, latency)

    def publish(self, publish: Publish, retry: Retry | None, *, total_s: float) -> PublishResponse:
        """Publish a batch; raises what the client would."""
        since = self._clock()
        first = _First(self._hedging.delay_s)
        try:
            with self._calls.carried_by(first):
                response = publish(retry=None)
        except Slow:
            response = self._race(publish, retry, first, since, total_s)
        except GoogleAPIError as error:
            response = self._race(publish, retry, first, since, total_s, error)
        else:
            with self.rule() as rule:
                rule.refill()
        self._measure(self._clock() - since)
        return response

    def _race(  # noqa: PLR0913, PLR0917  # all that the first RPC leaves
        self,
        publish: Publish,
        retry: Retry | None,
        first: "_First",
        since: float,
        total_s: float,
        error: GoogleAPIError | None = None,
    ) -> PublishResponse:
        """Go on with retries and hedges from where the first RPC stands."""
        if first.send is None:
            raise error or Slow
        spent_s = self._clock() - since
        if retry is not None and retry.timeout is not None:
            retry = retry.with_timeout(max(0.001, retry.timeout - spent_s))

        def go_on(original: Original) -> PublishResponse:
            with self._calls.carried_by(original):
                return publish(retry=retry)

        race = Race(self.rule, first.send, Original(first.call, error), clock=self._clock)
        return race.run(go_on, since=since, total_s=total_s)

    def _measure(self, took_s: float) -> None:
        with self._lock:
            self._buckets[bucket_of(took_s)] += 1
            self._total_us += round(took_s * 1e6)


class _First:
    """The first RPC of a batch: waited for in the batch's own thread as long as the delay."""

    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self.send: Send | None = None
        self.call: Call | None = None

    def __call__(self, send: Send, timeout: float | None) -> PublishResponse:
        """Answer the RPC; raises Slow while it is on its way."""
        self.send = send
        self.call = send(timeout=timeout)
        try:
            return self.call.result(timeout=self._delay_s)
        except grpc.FutureTimeoutError:
            raise Slow from None
