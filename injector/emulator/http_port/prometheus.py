"""The metrics in Prometheus' format, under names like the service's own."""

from collections import Counter
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from injector.emulator.parts import Parts
from injector.emulator.records.publishes import Publishes
from injector.emulator.records.series import BOUNDS

_PREFIX = "cloudtasks_"
_PUBSUB_PREFIX = "pubsub_"


def scrape(parts: Parts) -> bytes:
    """Return every metric as text."""
    parts.metrics.gather(now=parts.clock.now())
    registry = CollectorRegistry()
    registry.register(_Emulator(parts))
    return generate_latest(registry)


class _Emulator(Collector):
    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics as they are now."""
        yield self._queues("queue_depth", "Tasks in the queue.", "depth")
        yield self._queues("queue_in_flight", "Attempts on their way.", "in_flight")
        yield self._rates()
        yield self._attempts()
        yield from self._calls()
        yield from self._topics()

    def _queues(self, name: str, text: str, attribute: str) -> Metric:
        family = GaugeMetricFamily(_PREFIX + name, text, labels=["queue"])
        for queue in self._parts.service.registry.queues.values():
            family.add_metric([queue.name], float(getattr(queue, attribute)))
        return family

    def _rates(self) -> Metric:
        text = "Dispatches per second that are configured, and that are allowed now."
        family = GaugeMetricFamily(_PREFIX + "queue_rate", text, labels=["queue", "kind"])
        for queue in self._parts.service.registry.queues.values():
            rate = queue.limits.rate.max_dispatches_per_second
            family.add_metric([queue.name, "configured"], rate)
            family.add_metric([queue.name, "enforced"], queue.pace.rate(rate))
        return family

    def _attempts(self) -> Metric:
        family = CounterMetricFamily(
            _PREFIX + "queue_task_attempts",
            "Attempts that ended, by their RPC code.",
            labels=["queue", "response_code"],
        )
        for labels, number in self._parts.metrics.attempts.totals().items():
            family.add_metric(list(labels), number)
        return family

    def _calls(self) -> Iterator[Metric]:
        families = {
            prefix: CounterMetricFamily(
                prefix + "api_requests", "Calls, by method and code.", labels=["method", "code"]
            )
            for prefix in (_PREFIX, _PUBSUB_PREFIX)
        }
        totals: Counter[tuple[str, str]] = Counter()
        for (method, _, _, code), number in self._parts.metrics.calls.totals().items():
            totals[method, code] += number
        for labels, number in totals.items():
            of_pubsub = labels[0].startswith("google.pubsub.")
            families[_PUBSUB_PREFIX if of_pubsub else _PREFIX].add_metric(list(labels), number)
        yield from families.values()

    def _topics(self) -> Iterator[Metric]:
        pubsub = self._parts.pubsub
        if pubsub is None:
            return
        yield _latencies(pubsub.publishes)
        rows = pubsub.rows()
        sent = CounterMetricFamily(
            _PUBSUB_PREFIX + "topic_messages", "Messages published.", labels=["topic"]
        )
        left = GaugeMetricFamily(
            _PUBSUB_PREFIX + "subscription_num_undelivered_messages",
            "Messages that are not acknowledged.",
            labels=["subscription"],
        )
        for row in rows:
            sent.add_metric([row.name], row.messages)
            for subscription in row.subscriptions:
                left.add_metric([subscription.name], subscription.backlog)
        yield from (sent, left)


def _latencies(publishes: Publishes) -> Metric:
    family = HistogramMetricFamily(
        _PUBSUB_PREFIX + "topic_send_request_latencies_seconds",
        "How long publish requests took, by topic and code.",
        labels=["topic", "response_code"],
    )
    for (topic, code), spread in publishes.spreads().items():
        bounds = [str(bound / 1000) for bound in BOUNDS] + ["+Inf"]
        below = list(zip(bounds, accumulate(spread.buckets), strict=True))
        family.add_metric([topic, code], below, spread.mean * spread.count / 1000)
    return family
