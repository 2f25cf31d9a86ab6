"""HTTP statuses and the gRPC names that Cloud Tasks reports in their place."""

from collections.abc import Mapping

OK = "OK"
CONGESTION = frozenset({"RESOURCE_EXHAUSTED", "UNAVAILABLE"})
"""What makes the service lower a queue's rate at once: 429 and 503."""

OVERLOAD = CONGESTION | {"INTERNAL", "DEADLINE_EXCEEDED", "UNKNOWN"}
"""What a target answers that is overloaded or away; UNKNOWN is one that could not be reached."""

REFUSED_CREATES = CONGESTION | {"ABORTED", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN"}
"""How creates end where the service has more of them than it can take."""

_HTTP: Mapping[str, int] = {
    "OK": 200,
    "INVALID_ARGUMENT": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "OUT_OF_RANGE": 416,
    "RESOURCE_EXHAUSTED": 429,
    "CANCELLED": 499,
    "INTERNAL": 500,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}
_ALSO: Mapping[str, int] = {"ALREADY_EXISTS": 409, "FAILED_PRECONDITION": 400}
_NAMES: Mapping[int, str] = {status: name for name, status in _HTTP.items()}
_BY_HUNDRED: Mapping[int, str] = {2: OK, 4: "FAILED_PRECONDITION", 5: "INTERNAL"}


def grpc_name(code: str) -> str:
    """Return a code's gRPC name, whichever way it is written: `ok`, `OK`, `200`, `429`."""
    written = code.strip().upper()
    if not written.isdigit():
        return written
    status = int(written)
    return _NAMES.get(status, _BY_HUNDRED.get(status // 100, "UNKNOWN"))


def http_status(name: str) -> int | None:
    """Return the status that stands behind a gRPC name most often; None where none does."""
    return _HTTP.get(name, _ALSO.get(name))


def in_words(name: str) -> str:
    """Write a code for a person: with the HTTP status that they know it by."""
    status = http_status(name)
    return f"{name} (HTTP {status})" if status else name
