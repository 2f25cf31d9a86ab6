"""Which route is for whom, and how much of it. A route that is not named here is for people."""

from collections.abc import Mapping

from flask import Flask, current_app, g, request

from handlers.auth import Call, Caller, Gate, Role
from handlers.metrics import metrics
from injector.errors import Refused

OPEN = frozenset({"health.health", "health.healthz", "health.ready", "health.readyz"})
ROLES: Mapping[str, Role] = {
    "inject.deliver": Role.QUEUES,
    "keep_warm.arrived": Role.QUEUES,
    "control.tick": Role.SCHEDULER,
}


def register(app: Flask) -> None:
    """Let no request further than the gate without a caller who may make it."""
    app.before_request(_admit)


def caller() -> Caller:
    """Return who makes this request."""
    found: Caller = g.caller
    return found


def _admit() -> None:
    if request.endpoint in OPEN:
        return
    gate: Gate = current_app.extensions["gate"]
    role = ROLES.get(request.endpoint or "", Role.PEOPLE)
    try:
        g.caller = gate.admit(Call(request.headers, request.remote_addr), role)
    except Refused:
        metrics().refused.inc()
        raise
    current_app.extensions["allowance"].take(g.caller, role)
