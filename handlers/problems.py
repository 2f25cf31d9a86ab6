"""Errors as problem details (RFC 9457)."""

from http import HTTPStatus

from flask import Flask, Response, json
from werkzeug.exceptions import HTTPException

from handlers.logs import event, failure
from injector.errors import (
    Conflict,
    InjectorError,
    Misused,
    NotFound,
    Outdated,
    Refused,
    Rejected,
    Retryable,
    Throttled,
)

_STATUS: tuple[tuple[type[InjectorError], int], ...] = (
    (NotFound, 404),
    (Outdated, 412),
    (Conflict, 409),
    (Misused, 400),
    (Rejected, 422),
    (Throttled, 429),
    (Retryable, 503),
)


def register(app: Flask) -> None:
    """Answer every error in the one form; what nobody expected is logged, and not shown."""
    app.register_error_handler(InjectorError, _product_error)
    app.register_error_handler(HTTPException, _http_error)
    app.register_error_handler(Exception, _unexpected)


def problem(status: int, detail: str) -> Response:
    """Make the answer; `detail` is for the caller's eyes."""
    title = HTTPStatus(status).phrase
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return Response(json.dumps(body), status, content_type="application/problem+json")


def _product_error(error: InjectorError) -> Response:
    if isinstance(error, Refused):
        return _refusal(error)
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    answer = problem(status, str(error))
    if isinstance(error, Retryable):
        answer.headers["Retry-After"] = f"{max(1, round(error.retry_after_s or 1))}"
    return answer


def _refusal(error: Refused) -> Response:
    """Tell a caller who showed no identity from one whose identity does not suffice."""
    event("caller.refused", "WARNING", why=str(error))
    if error.authenticated:
        return problem(403, "this identity may not call this route")
    answer = problem(401, str(error))
    answer.headers["WWW-Authenticate"] = "Bearer"
    return answer


def _http_error(error: HTTPException) -> Response:
    answer = problem(error.code or 500, error.description or "")
    for name, value in error.get_headers():
        if name in {"Allow", "Retry-After"}:
            answer.headers[name] = value
    return answer


def _unexpected(error: Exception) -> Response:
    failure("request.failed", error)
    return problem(500, "the service met an error of its own; it is in its log")
