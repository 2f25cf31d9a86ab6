"""Traces: of requests, of the creates below them, and in their log."""

import json
import logging
from io import StringIO

import pytest
from flask import Flask
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, format_span_id, format_trace_id

from handlers.app import create_app
from handlers.logs import JsonLines
from handlers.traces import trace
from injector.errors import Misused
from injector.settings import Settings, read_settings
from tests.bench import GROUP
from tests.scripted_service import Answer, Service, serve
from tests.served import submission

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
HEADERS = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
TASK = {"version": 1, "job": "welcome-1", "chunk": 0}


@pytest.fixture
def spans():
    """Where spans end up."""
    return InMemorySpanExporter()


@pytest.fixture
def tasks():
    """A Cloud Tasks over real gRPC."""
    with serve(Service()) as tasks:
        yield tasks


@pytest.fixture
def client(tmp_path, spans, tasks):
    """A traced service on loopback, with a Cloud Tasks over real gRPC."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    settings = Settings(
        auth="off",
        groups={"welcome": GROUP},
        ledger_url="sqlite://",
        store_url=str(tmp_path / "chunks"),
        emulator_host=tasks.address,
    )
    app = create_app(settings, trace=lambda app: trace(app, provider))
    client = app.test_client()
    client.post("/jobs", json=submission(tmp_path, 100))
    spans.clear()
    yield client
    app.extensions["parts"].close()
    app.extensions["parts"].ledger.close()


def test_a_queue_s_trace_goes_on_to_every_create(client, spans):
    assert client.post("/inject", json=TASK, headers=HEADERS).json["status"] == "settled"
    found = spans.get_finished_spans()
    (request,) = [span for span in found if span.kind is SpanKind.SERVER]
    creates = [span for span in found if span.kind is SpanKind.CLIENT]
    assert len(creates) == 100
    assert {format_trace_id(span.context.trace_id) for span in found} == {TRACE}
    assert format_span_id(request.parent.span_id) == PARENT
    assert {span.parent.span_id for span in creates} == {request.context.span_id}
    assert {span.name for span in creates} == {"google.cloud.tasks.v2.CloudTasks/CreateTask"}
    assert {span.attributes["rpc.grpc.status_code"] for span in creates} == {0}


def test_a_create_that_fails_says_so_in_its_span(client, spans, tasks):
    tasks.plan = lambda _: Answer("PERMISSION_DENIED")
    client.post("/inject", json=TASK, headers=HEADERS)
    creates = [span for span in spans.get_finished_spans() if span.kind is SpanKind.CLIENT]
    assert {span.attributes["rpc.grpc.status_code"] for span in creates} == {7}
    assert {span.status.description for span in creates} == {"PERMISSION_DENIED"}


@pytest.fixture
def written():
    """What the service's log writes."""
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines("p"))
    log = logging.getLogger("injector")
    log.addHandler(handler)
    log.setLevel("INFO")
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    log.removeHandler(handler)
    log.setLevel(logging.NOTSET)


def test_a_request_without_a_trace_begins_one_that_its_log_names(client, spans, written):
    client.post("/inject", json=TASK)
    (settled,) = [line for line in written() if line.get("event") == "chunk.settled"]
    (request,) = [s for s in spans.get_finished_spans() if s.kind is SpanKind.SERVER]
    named = format_trace_id(request.context.trace_id)
    assert settled["logging.googleapis.com/trace"] == f"projects/p/traces/{named}"


@pytest.mark.parametrize("path", ["/healthz", "/health", "/readyz", "/ready", "/metrics"])
def test_what_is_asked_all_the_time_is_not_traced(client, spans, path):
    client.get(path)
    assert spans.get_finished_spans() == ()


def test_spans_hold_no_payload(client, spans):
    client.post("/inject", json=TASK)
    assert '"n"' not in "".join(span.to_json() for span in spans.get_finished_spans())


def is_traced(settings):
    return getattr(create_app(settings), "_is_instrumented_by_opentelemetry", False)


@pytest.mark.parametrize("name", ["ENDPOINT", "TRACES_ENDPOINT"])
def test_traces_are_off_unless_the_environment_says_where_to_send_them(monkeypatch, spans, name):
    serving = {"auth": "off", "groups": {"welcome": GROUP}}
    assert not is_traced(read_settings().model_copy(update=serving))
    monkeypatch.setenv(f"OTEL_EXPORTER_OTLP_{name}", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert is_traced(read_settings().model_copy(update=serving))


def test_an_endpoint_that_is_no_url_is_refused(monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")
    with pytest.raises(Misused, match="OTEL_EXPORTER_OTLP_ENDPOINT='collector:4317'"):
        read_settings()


def test_an_application_that_is_not_traced_is_flask_s_own():
    app = create_app(Settings(auth="off", groups={"welcome": GROUP}))
    assert app.wsgi_app.__func__ is Flask.wsgi_app
