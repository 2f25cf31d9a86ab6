"""The metrics in Prometheus' format, under names like the service's own."""

from collections import Counter
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from injector.emulator.parts import Parts

_PREFIX = "cloudtasks_"


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
        yield self._calls()

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

    def _calls(self) -> Metric:
        family = CounterMetricFamily(
            _PREFIX + "api_requests", "Calls, by method and code.", labels=["method", "code"]
        )
        totals: Counter[tuple[str, str]] = Counter()
        for (method, _, _, code), number in self._parts.metrics.calls.totals().items():
            totals[method, code] += number
        for labels, number in totals.items():
            family.add_metric(list(labels), number)
        return family
