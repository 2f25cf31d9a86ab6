"""One publisher's hedging: its rule and bucket shared between threads, and what it counts."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from google.api_core.retry import Retry
from google.pubsub_v1.types import PublishResponse

from injector.pacing.hedge import Hedging
from injector.pacing.histogram import SIZE, Histogram, bucket_of
from injector.publishing.calls import Calls
from injector.publishing.race import Race
from injector.publishing.seam import Retrying, retrying
from injector.publishing.watch import Watch


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

    def __call__(self, *, retry: Retrying | None) -> PublishResponse:
        """Return the answer; raises GoogleAPIError."""


class Hedger:
    """Publishes batches, and hedges those that are slow.

    A batch runs in the thread that it had anyway; hedging costs one that is not slow a few
    microseconds.
    """

    def __init__(
        self, hedging: Hedging, calls: Calls, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._hedging = hedging
        self._calls = calls
        self._clock = clock
        self._watch = Watch(hedging.delay_s, clock)
        self._lock = threading.Lock()
        self._buckets = [0] * SIZE
        self._total_us = 0

    def stats(self) -> HedgingStats:
        """Return what was done so far."""
        with self._lock:
            latency = Histogram(tuple(self._buckets), self._total_us)
            rule = self._hedging
            return HedgingStats(rule.sent, rule.won, rule.cancelled, rule.tokens, latency)

    def publish(self, publish: Publish, retry: Retry | None, *, total_s: float) -> PublishResponse:
        """Publish a batch; raises what the client would."""
        since = self._clock()
        chain = self._hedging.begin(now=since, timeout_s=total_s)
        race = Race(chain, self._lock, self._watch.add)
        original = partial(publish, retry=retrying(retry, race.wait))
        try:
            response = self._calls.carry(race.original, original)
        except BaseException as error:
            found = race.ended()
            if found is None or not isinstance(error, Exception):
                raise
            response = found
        else:
            race.succeeded(0, response)
        self._measure(self._clock() - since)
        return response

    def close(self) -> None:
        """Keep no thread but for batches on their way."""
        self._watch.tidy()

    def _measure(self, took_s: float) -> None:
        with self._lock:
            self._buckets[bucket_of(took_s)] += 1
            self._total_us += round(took_s * 1e6)
