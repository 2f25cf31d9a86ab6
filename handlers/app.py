"""The application: gate, routes, and what surrounds every request."""

from collections.abc import Callable
from typing import TypeVar

from flask import Flask, Response, g, request

from handlers import access, dashboard, metrics, problems, same_site
from handlers.allowance import Allowance
from handlers.auth import Gate
from handlers.control import control
from handlers.drain import Drain
from handlers.groups import groups
from handlers.health import health
from handlers.inject import inject
from handlers.jobs import jobs
from handlers.keep_warm import keep_warm
from handlers.keys import KeySet
from handlers.logs import event, trace_of
from handlers.openapi import openapi
from handlers.operating import operating
from handlers.parts import Parts, make_parts
from handlers.reports import reports
from handlers.seats import Seats
from handlers.steering import steering
from injector.delivery.channel import Around, bare
from injector.errors import Misused
from injector.settings import Settings, service_faults

MAX_BODY = 1024 * 1024

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
F = TypeVar("F", bound=Callable[..., object])

_BLUEPRINTS = (
    inject,
    keep_warm,
    control,
    jobs,
    steering,
    reports,
    groups,
    operating,
    health,
    openapi,
)


class PlainFlask(Flask):
    """Flask for functions that are plain: it would ask of each at each call whether it is async."""

    def ensure_sync(self, func: F) -> F:
        """Return the function as it is."""
        return func


def create_app(
    settings: Settings,
    parts: Parts | None = None,
    keys: KeySet | None = None,
    trace: Callable[[Flask], Around] | None = None,
) -> Flask:
    """Make the application; nothing is opened, started or asked before the first request.

    But for the thread that sends traces, where they are asked for; `trace` is who makes them,
    or None for what the settings say. Raises Misused for settings that a service cannot run with.
    """
    _check(settings)
    app = PlainFlask("injector", static_folder=None)
    around = (trace or _tracing(settings))(app)
    app.config["MAX_CONTENT_LENGTH"] = MAX_BODY
    parts = parts or make_parts(settings, around)
    app.extensions["parts"] = parts
    app.extensions["gate"] = Gate(settings, keys)
    app.extensions["allowance"] = Allowance(settings.requests_per_minute)
    app.extensions["metrics"] = metrics.make_metrics()
    app.extensions["drain"] = Drain(parts.close, after_s=settings.drain_s)
    app.extensions["seats"] = Seats(settings.threads, patience_s=settings.handler_budget_s / 2)
    app.before_request(_begin)
    metrics.register(app)
    same_site.register(app)
    access.register(app)
    problems.register(app)
    app.after_request(_secure)
    for blueprint in _BLUEPRINTS:
        app.register_blueprint(blueprint)
    dashboard.register(app, threads=settings.threads)
    return app


def _check(settings: Settings) -> None:
    if faults := "\n".join(f"  {fault}" for fault in service_faults(settings)):
        raise Misused(f"the service cannot run with these settings:\n{faults}")
    for warning in settings.warnings():
        event("settings.doubted", "CRITICAL", why=warning)


def _tracing(settings: Settings) -> Callable[[Flask], Around]:
    """Return what traces an application and its calls, if anything does."""
    if not settings.otlp_endpoint:
        return lambda _app: bare
    try:
        from handlers import traces  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise Misused(
            f"OTEL_EXPORTER_OTLP_ENDPOINT={settings.otlp_endpoint!r} needs the extra `otel`: "
            "pip install 'cloud-tasks-injector[otel]'"
        ) from error
    return lambda app: traces.trace(app, traces.exporting())


def _begin() -> None:
    headers = request.headers
    told = trace_of(headers.get("traceparent", ""), headers.get("X-Cloud-Trace-Context", ""))
    g.trace = told or g.get("trace", "")


def _secure(answer: Response) -> Response:
    present = set(answer.headers.keys(lower=True))
    for name, value in _HEADERS.items():
        if name.lower() not in present:
            answer.headers.add(name, value)
    return answer
