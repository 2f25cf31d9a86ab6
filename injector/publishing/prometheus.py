"""What publishers' hedging does, for Prometheus."""

from collections.abc import Iterator, Mapping
from itertools import accumulate

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from injector.pacing.histogram import BOUNDS_S, Histogram
from injector.publishing.client import HedgedPublisherClient

EVERY = 4
"""One in so many of the latency's bounds is told: each a doubling of the last, 1.7 ms to 110 s."""


class HedgingCollector(Collector):
    """Reads `hedging_stats()` of publishers, by name, whenever the registry is asked.

    Publishers without hedging have nothing to tell, and are left out.
    """

    def __init__(self, publishers: Mapping[str, HedgedPublisherClient]) -> None:
        self._publishers = publishers

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics, each with a sample for each publisher."""
        hedges = CounterMetricFamily(
            "pubsub_publish_hedges", "Hedges of publishes", labels=["publisher", "end"]
        )
        cancelled = CounterMetricFamily(
            "pubsub_publish_cancelled", "Attempts that another's answer ended", labels=["publisher"]
        )
        tokens = GaugeMetricFamily(
            "pubsub_publish_hedge_tokens", "Hedges that could be sent", labels=["publisher"]
        )
        latency = HistogramMetricFamily(
            "pubsub_publish_seconds", "Time from send to answer", labels=["publisher"]
        )
        for name, publisher in self._publishers.items():
            if stats := publisher.hedging_stats():
                hedges.add_metric([name, "sent"], stats.sent)
                hedges.add_metric([name, "won"], stats.won)
                cancelled.add_metric([name], stats.cancelled)
                tokens.add_metric([name], stats.tokens)
                latency.add_metric([name], _buckets(stats.latency), stats.latency.total_us / 1e6)
        yield from (hedges, cancelled, tokens, latency)


def _buckets(latency: Histogram) -> list[tuple[str, float]]:
    """Return how many durations are within each bound that is told."""
    within = list(accumulate(latency.counts))
    told = range(EVERY - 1, len(BOUNDS_S), EVERY)
    return [*((str(BOUNDS_S[each]), within[each]) for each in told), ("+Inf", within[-1])]
