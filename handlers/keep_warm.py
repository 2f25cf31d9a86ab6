"""POST /keep-warm: a task that does nothing but keep its queue from going cold."""

from flask import Blueprint, Response, jsonify, request

from handlers.metrics import metrics
from injector.operations.keep_warm import HEADER

SHOWN = 200

keep_warm = Blueprint("keep_warm", __name__)


@keep_warm.post("/keep-warm")
def arrived() -> Response:
    """Count it; the body, if there is one, is not read."""
    metrics().kept_warm.inc()
    return jsonify(status="warm", operation=request.headers.get(HEADER, "")[:SHOWN])
