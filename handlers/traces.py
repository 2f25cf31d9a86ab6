"""Traces by OpenTelemetry, on where the environment says where to send them.

What comes with a request's traceparent goes on: to the request's own span, to each create's
below it, and to the lines of its log. The SDK reads its standard variables (OTEL_…) itself.
"""

from collections.abc import Mapping

from flask import Flask, g
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.instrumentation.flask import FlaskInstrumentor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, format_trace_id

from injector.delivery.channel import Around, CallFailed, Channel
from injector.delivery.credentials import Metadata
from injector.http2.answers import CODES

SERVICE = "cloud-tasks-injector"
EXPORT_WITHIN_S = 2
"""A process that ends waits for its last spans, and has ten seconds in all."""

SETTLED = "ALREADY_EXISTS"
"""The one status other than OK that is no error: the task is there."""

UNTRACED = "healthz?$,readyz?$,metrics$"


def exporting() -> TracerProvider:
    """Make a provider that sends spans by OTLP over HTTP, in batches, from a thread of its own."""
    provider = TracerProvider(resource=Resource.create({"service.name": SERVICE}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=EXPORT_WITHIN_S)))
    return provider


def trace(app: Flask, provider: TracerProvider) -> Around:
    """Trace the application's requests; return what traces its calls to Cloud Tasks.

    To be called first: what comes before the application's own steps is within the span.
    """
    FlaskInstrumentor().instrument_app(
        app, request_hook=_note, tracer_provider=provider, excluded_urls=UNTRACED
    )
    tracer = provider.get_tracer(SERVICE)
    return lambda channel: TracedChannel(channel, tracer)


class TracedChannel:
    """A channel each of whose calls is a span, by OpenTelemetry's names for those of RPCs."""

    def __init__(self, inner: Channel, tracer: Tracer) -> None:
        self._inner = inner
        self._tracer = tracer

    async def invoke(
        self, path: str, request: bytes, *, timeout_s: float, about: Metadata, token: Metadata
    ) -> bytes:
        """Send a call, within a span."""
        _, service, method = path.split("/")
        about_it = {"rpc.system": "grpc", "rpc.service": service, "rpc.method": method}
        with self._tracer.start_as_current_span(
            path[1:],
            kind=SpanKind.CLIENT,
            attributes=about_it,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                answer = await self._inner.invoke(
                    path, request, timeout_s=timeout_s, about=about, token=token
                )
            except CallFailed as failed:
                span.set_attribute("rpc.grpc.status_code", CODES.index(failed.code))
                if failed.code != SETTLED:
                    span.set_status(Status(StatusCode.ERROR, failed.code))
                raise
            span.set_attribute("rpc.grpc.status_code", 0)
            return answer

    async def close(self) -> None:
        """Close the channel."""
        await self._inner.close()


def _note(span: Span, _environ: Mapping[str, object]) -> None:
    """Let the log name the trace, also of a request that came without one."""
    if span.get_span_context().is_valid:
        g.trace = format_trace_id(span.get_span_context().trace_id)
