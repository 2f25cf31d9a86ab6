"""Traces by OpenTelemetry, on where the environment says where to send them.

What comes with a request's traceparent goes on: to the request's own span, to each create's
below it, and to the lines of its log. The SDK reads its standard variables (OTEL_…) itself.
"""

from collections.abc import Mapping

from flask import Flask, g
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.instrumentation.grpc import GrpcAioInstrumentorClient
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, format_trace_id

SERVICE = "cloud-tasks-injector"
EXPORT_WITHIN_S = 2
"""A process that ends waits for its last spans, and has ten seconds in all."""

UNTRACED = "healthz?$,readyz?$,metrics$"


def exporting() -> TracerProvider:
    """Make a provider that sends spans by OTLP over HTTP, in batches, from a thread of its own."""
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=EXPORT_WITHIN_S)))
    return provider


def trace(app: Flask, provider: TracerProvider) -> None:
    """Trace the application's requests, and this process's calls to Cloud Tasks.

    To be called first: what comes before the application's own steps is within the span.
    """
    FlaskInstrumentor().instrument_app(
        app, request_hook=_note, tracer_provider=provider, excluded_urls=UNTRACED
    )
    calls = GrpcAioInstrumentorClient()
    if not calls.is_instrumented_by_opentelemetry:
        calls.instrument(tracer_provider=provider)


def _note(span: Span, _environ: Mapping[str, object]) -> None:
    """Let the log name the trace, also of a request that came without one."""
    if span.get_span_context().is_valid:
        g.trace = format_trace_id(span.get_span_context().trace_id)
