"""Hedging beneath a client's other layers: no thread left over, traces and logs as they were."""

import logging
import threading
from collections.abc import Iterator

import grpc
import pytest
from google.api_core.exceptions import GoogleAPIError
from google.api_core.retry import Retry
from google.cloud.pubsub_v1.types import PublisherOptions
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from opentelemetry import trace
from opentelemetry.instrumentation.grpc import client_interceptor
from opentelemetry.instrumentation.grpc.grpcext import intercept_channel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from injector.publishing import HedgedPublisherClient
from tests.emulator.pubsub import TOPIC
from tests.publishing.bench import SOON
from tests.waiting import PATIENCE_S, until

PUBLISH = "/google.pubsub.v1.Publisher/Publish"
NEVER = {"effect": "delay", "latency": {"fixed_s": 600}}


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    """The process's tracing, which can be set but once."""
    made = TracerProvider()
    trace.set_tracer_provider(made)
    return made


@pytest.fixture
def spans(provider: TracerProvider) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield exporter
    exporter.shutdown()


@pytest.fixture
def logged() -> Iterator[logging.Logger]:
    """Google's own log of every call."""
    logger = logging.getLogger("google.pubsub_v1")
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.setLevel(logging.NOTSET)


def own(channel: grpc.Channel, **options: object) -> HedgedPublisherClient:
    """Return a publisher that the test itself stops."""
    transport = PublisherGrpcTransport(channel=channel)
    return HedgedPublisherClient(hedging=SOON, transport=transport, **options)


def of_hedging() -> list[str]:
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if "Hedge" in name or "CommitBatch" in name]


def test_publisher_stopped_in_mid_hedge_publishes_all_the_same_and_leaves_no_thread(bench):
    publisher = bench.warm(own(bench.port.channel()))
    bench.plan({**NEVER, "times": 1}, {"effect": "delay", "after": 1, "latency": {"fixed_s": 0.5}})
    future = publisher.publish(TOPIC, b"x")
    until(lambda: publisher.hedging_stats().sent == 1)
    publisher.stop()
    assert future.result(PATIENCE_S)
    until(lambda: of_hedging() == [])


def test_channel_closed_in_mid_hedge_fails_the_batch_and_leaves_no_thread(bench):
    channel = bench.port.channel()
    publisher = bench.warm(own(channel, publisher_options=PublisherOptions(retry=None)))
    bench.plan(NEVER)
    future = publisher.publish(TOPIC, b"x")
    until(lambda: publisher.hedging_stats().sent == 1)
    channel.close()
    with pytest.raises(GoogleAPIError, match="Channel closed"):
        future.result(PATIENCE_S)
    until(lambda: of_hedging() == [])


def test_back_off_ends_with_the_answer_of_a_hedge(bench):
    options = PublisherOptions(retry=Retry(initial=600, maximum=600, timeout=1200))
    publisher = bench.warm(bench.publisher(publisher_options=options))
    bench.plan({"effect": "error", "times": 1})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: of_hedging() == [])


def test_back_off_that_would_outlast_the_time_out_is_not_begun(bench):
    options = PublisherOptions(retry=Retry(initial=1e9, maximum=1e9, timeout=20))
    bench.plan({"effect": "error"})
    with pytest.raises(GoogleAPIError, match=r"Timeout of 20\.0s exceeded"):
        bench.publisher(publisher_options=options).publish(TOPIC, b"x").result(PATIENCE_S)


def test_hooks_of_a_retry_are_called(bench):
    seen = []
    options = PublisherOptions(retry=Retry(initial=0.01, timeout=20, on_error=seen.append))
    bench.plan({"effect": "error", "times": 2})
    assert bench.publisher(publisher_options=options).publish(TOPIC, b"x").result(PATIENCE_S)
    assert [error.code for error in seen] == [503, 503]


def test_publisher_at_rest_keeps_no_thread(bench):
    bench.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: of_hedging() == [])


def test_calls_are_logged_and_hedged_all_the_same(bench, logged, caplog):
    publisher = bench.warm(bench.publisher())
    caplog.clear()
    bench.plan({**NEVER, "times": 1})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: bench.seen == {"OK": 1, "CANCELLED": 1})
    sent = [record for record in caplog.records if record.message.startswith("Sending request")]
    assert [record.name.startswith(logged.name) for record in sent] == [True, True]


def test_publisher_with_tracing_is_hedged_and_traces_the_message_once(bench, spans):
    options = PublisherOptions(enable_open_telemetry_tracing=True)
    publisher = bench.warm(bench.publisher(publisher_options=options))
    spans.clear()
    bench.plan({**NEVER, "times": 1})
    message_id = publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: "events create" in [each.name for each in spans.get_finished_spans()])
    created, published = (
        [each for each in spans.get_finished_spans() if each.name == f"events {what}"]
        for what in ("create", "publish")
    )
    assert [each.attributes["messaging.message.id"] for each in created] == [message_id]
    assert [each.status.is_unset for each in published] == [True]
    assert publisher.hedging_stats().won == 1


def test_hedge_is_a_call_of_its_own_where_calls_are_traced(bench, spans, provider):
    channel = intercept_channel(bench.port.channel(), client_interceptor(provider))
    publisher = bench.warm(own(channel))
    spans.clear()
    bench.plan({**NEVER, "times": 1})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: bench.seen == {"OK": 1, "CANCELLED": 1})
    until(lambda: len(spans.get_finished_spans()) == 2)
    assert {each.name for each in spans.get_finished_spans()} == {PUBLISH}
    publisher.stop()


class Told(grpc.UnaryUnaryClientInterceptor):
    """A user's own layer."""

    def __init__(self) -> None:
        self.calls = 0

    def intercept_unary_unary(self, continuation, details, request):
        self.calls += 1
        return continuation(details, request)


def test_own_interceptors_see_original_and_hedge(bench):
    told = Told()
    channel = grpc.intercept_channel(bench.port.channel(), told)
    publisher = bench.warm(own(channel))
    told.calls = 0
    bench.plan({**NEVER, "times": 1})
    assert publisher.publish(TOPIC, b"x").result(PATIENCE_S)
    until(lambda: bench.seen == {"OK": 1, "CANCELLED": 1})
    assert told.calls == 2
    publisher.stop()
