"""Whether this process lives, whether it can serve, and what it has counted.

The first two have a second path, since Cloud Run keeps some that end in z for itself.
"""

from flask import Blueprint, Response, jsonify

from handlers.context import drain, parts
from handlers.logs import event
from handlers.metrics import exposition
from handlers.problems import problem
from injector.errors import InjectorError, Misused

health = Blueprint("health", __name__)


@health.get("/health", endpoint="health")
@health.get("/healthz")
def healthz() -> Response:
    """Say that the process answers; asks nothing of anyone else."""
    return jsonify(status="ok")


@health.get("/ready", endpoint="ready")
@health.get("/readyz")
def readyz() -> Response:
    """Say whether the ledger answers and the process is not ending."""
    if drain().begun:
        return problem(503, "this process is ending")
    try:
        parts().ledger.ping()
    except Misused as error:
        event("ledger.unusable", "ERROR", why=str(error))
        return problem(503, "the ledger cannot be used as it is set up; the service's log says why")
    except InjectorError:
        return problem(503, "the ledger does not answer")
    return jsonify(status="ready")


@health.get("/metrics")
def metrics() -> Response:
    """Show the metrics to Prometheus."""
    return exposition(parts().settings.metrics_dir)
