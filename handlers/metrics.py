"""What Prometheus sees: of this process, or of all of a service's where they share a folder."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from flask import Flask, Response, current_app, g, request
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.multiprocess import MultiProcessCollector

from injector.pacing.signals import Signals

M = TypeVar("M", bound=MetricWrapperBase)

FAN_OUT_S = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 45)


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of an application, on a registry of its own.

    A delivery's `answer` tells settled, waiting, parked, recalled, dropped and rejected, which end
    it, from retry, after which the queue sends it again.
    """

    registry: CollectorRegistry
    requests: Counter
    request_seconds: Histogram
    deliveries: Counter
    records: Counter
    creates: Counter
    create_seconds: Counter
    hedges: Counter
    hedge_tokens: Gauge
    attempts_cancelled: Counter
    fan_out_seconds: Histogram
    ticks: Counter
    fed: Counter
    rate: Gauge
    refused: Counter
    kept_warm: Counter


def make_metrics() -> Metrics:
    """Make metrics that begin at nothing."""
    on = CollectorRegistry()
    return Metrics(
        on,
        Counter("injector_requests", "Requests", ["route", "status"], registry=on),
        Histogram("injector_request_seconds", "Time of a request", ["route"], registry=on),
        Counter("injector_deliveries", "Injector tasks delivered", ["answer"], registry=on),
        Counter("injector_records", "Records settled", ["outcome"], registry=on),
        Counter("injector_creates", "Creates by how they ended", ["end"], registry=on),
        Counter("injector_create_seconds", "Seconds that calls to create took", registry=on),
        Counter("injector_hedges", "Hedges of creates and publishes", ["end"], registry=on),
        Gauge(
            "injector_hedge_tokens",
            "Tokens left for hedges, in the process that fanned out last",
            ["group"],
            registry=on,
            multiprocess_mode="mostrecent",
        ),
        Counter(
            "injector_attempts_cancelled",
            "Creates and publishes that were ended since another's answer came first",
            registry=on,
        ),
        Histogram("injector_fan_out_seconds", "Time of a delivery", buckets=FAN_OUT_S, registry=on),
        Counter("injector_ticks", "Ticks of the controller", ["result"], registry=on),
        Counter("injector_fed_chunks", "Chunks fed", ["group", "again"], registry=on),
        Gauge(
            "injector_rate_allowed",
            "Injector tasks a second that the ramp allows",
            ["group"],
            registry=on,
            multiprocess_mode="mostrecent",
        ),
        Counter("injector_refused_callers", "Callers that were not let in", registry=on),
        Counter("injector_kept_warm", "Keep-warm tasks that arrived", registry=on),
    )


def register(app: Flask) -> None:
    """Count and time every request."""
    app.before_request(_begin)
    app.after_request(_count)


def metrics() -> Metrics:
    """Return the metrics of the application that answers."""
    found: Metrics = current_app.extensions["metrics"]
    return found


def count_signals(seen: Signals) -> None:
    """Count what a fan-out saw of Cloud Tasks; a create that the throttle kept is `throttled`."""
    counted = metrics()
    ends = {"accepted": seen.accepted, "throttled": seen.local_rejects, **seen.faults}
    _add(counted.creates, ends)
    counted.create_seconds.inc(seen.latency.total_us / 1e6)
    _add(counted.hedges, {"sent": seen.hedges_sent, "won": seen.hedges_won})
    counted.attempts_cancelled.inc(seen.hedges_cancelled)


def show_hedge_tokens(group: str, tokens: float | None) -> None:
    """Show how many hedges this process may send at once, where it hedges at all."""
    if tokens is not None:
        labelled(metrics().hedge_tokens, group).set(tokens)


def count_records(counts: Mapping[str, int]) -> None:
    """Count the records that a fan-out settled, by outcome."""
    _add(metrics().records, counts)


@lru_cache(1024)
def labelled(metric: M, *labels: str | int) -> M:
    """Return the part of a metric that has these labels, ten times faster than it does itself."""
    return metric.labels(*labels)


def _add(counter: Counter, counts: Mapping[str, int]) -> None:
    """Add what is not nothing: each count takes a place in a file that processes share."""
    for label, count in counts.items():
        if count:
            labelled(counter, label).inc(count)


def exposition(metrics_dir: str) -> Response:
    """Write out this process's metrics, or those of all processes that share the folder."""
    registry = metrics().registry
    if metrics_dir:
        registry = CollectorRegistry()
        MultiProcessCollector(registry, path=metrics_dir)
    return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _begin() -> None:
    g.began = time.perf_counter()


def _count(answer: Response) -> Response:
    route = request.url_rule.rule if request.url_rule else "none"
    counted = metrics()
    labelled(counted.requests, route, answer.status_code).inc()
    if began := g.get("began"):
        labelled(counted.request_seconds, route).observe(time.perf_counter() - began)
    return answer
