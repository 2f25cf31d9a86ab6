"""What Prometheus is told of hedged publishers."""

from prometheus_client import CollectorRegistry, generate_latest

from injector.publishing.prometheus import HedgingCollector
from tests.emulator.pubsub import TOPIC
from tests.waiting import PATIENCE_S, until


def told(registry: CollectorRegistry) -> dict[str, float]:
    lines = generate_latest(registry).decode().splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}


def test_hedges_tokens_and_latency_are_told_by_publisher(bench):
    publisher = bench.warm(bench.publisher())
    bench.plan({"effect": "delay", "times": 1, "latency": {"fixed_s": 600}})
    registry = CollectorRegistry()
    registry.register(HedgingCollector({"events": publisher}))
    publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: told(registry)['pubsub_publish_seconds_count{publisher="events"}'] == 6)
    found = told(registry)
    assert found['pubsub_publish_hedges_total{end="sent",publisher="events"}'] == 1
    assert found['pubsub_publish_hedges_total{end="won",publisher="events"}'] == 1
    assert found['pubsub_publish_cancelled_total{publisher="events"}'] == 1
    assert found['pubsub_publish_hedge_tokens{publisher="events"}'] == 0.2
    assert found['pubsub_publish_seconds_bucket{le="+Inf",publisher="events"}'] == 6
    seconds = publisher.hedging_stats().latency.total_us / 1e6
    assert found['pubsub_publish_seconds_sum{publisher="events"}'] == seconds > 0


def test_buckets_add_up_and_never_fall(bench):
    publisher = bench.warm(bench.publisher())
    registry = CollectorRegistry()
    registry.register(HedgingCollector({"events": publisher}))
    counts = [value for name, value in told(registry).items() if "seconds_bucket" in name]
    assert counts == sorted(counts)
    assert (counts[-1], len(counts)) == (5, 18)


def test_publisher_without_hedging_is_left_out(bench):
    registry = CollectorRegistry()
    registry.register(HedgingCollector({"plain": bench.publisher(None)}))
    assert told(registry) == {}
