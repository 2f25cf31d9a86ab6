"""What the end of a call means ("gRPC over HTTP2", and gRPC's table of HTTP's statuses)."""

from dataclasses import dataclass
from urllib.parse import unquote

from injector.http2.frames import Fault
from injector.http2.header_blocks import Fields
from injector.http2.messages import PREFIX_BYTES

CODES = (
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
)

_BY_HTTP_STATUS = {
    400: "INTERNAL",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "UNIMPLEMENTED",
    429: "UNAVAILABLE",
    502: "UNAVAILABLE",
    503: "UNAVAILABLE",
    504: "UNAVAILABLE",
}
_BY_FAULT = {
    Fault.REFUSED_STREAM: "UNAVAILABLE",
    Fault.CANCEL: "CANCELLED",
    Fault.ENHANCE_YOUR_CALM: "RESOURCE_EXHAUSTED",
    Fault.INADEQUATE_SECURITY: "PERMISSION_DENIED",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """How a call ended: its status, the words with it, and the message that answers it.

    `unseen` says that the server did not look at the request, so that it may be sent again at
    once.
    """

    code: str
    text: str = ""
    message: bytes = b""
    unseen: bool = False


UNFINISHED = Answer("INTERNAL", "the answer ended without a status")
BROKEN_OFF = Answer("UNAVAILABLE", "the server is closing the connection", unseen=True)


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a header block says: an HTTP status, whether it is gRPC's, and gRPC's status if any.

    It is `ok` where it ends a call well.
    """

    http_status: int
    grpc: bool
    status: Answer | None

    @property
    def ok(self) -> bool:
        """Say whether a call that this ends went well."""
        return self.status is not None and self.status.code == "OK"

    @property
    def informational(self) -> bool:
        """Say whether the answer's own headers are yet to come."""
        return 100 <= self.http_status < 200

    @property
    def refusal(self) -> Answer | None:
        """Return what is to be made of headers that do not begin an answer of gRPC."""
        if self.informational or (self.http_status in (0, 200) and self.grpc):
            return None
        return self.end()

    def end(self) -> Answer:
        """Return what is to be made of headers that end a call."""
        if self.status:
            return self.status
        if self.http_status in (0, 200):
            return UNFINISHED
        code = _BY_HTTP_STATUS.get(self.http_status, "UNKNOWN")
        return Answer(code, f"the server answered with HTTP status {self.http_status}")


def meaning(fields: Fields) -> Meaning:
    """Return what a header block's fields mean."""
    text = {name.decode("latin-1"): value.decode("latin-1") for name, value in fields}
    status = None
    if "grpc-status" in text:
        words = unquote(text.get("grpc-message", ""), errors="replace")
        status = Answer(code_of(_number(text["grpc-status"])), words)
    return Meaning(
        _number(text.get(":status", "0")),
        text.get("content-type", "application/grpc").startswith("application/grpc"),
        status,
    )


def _number(text: str) -> int:
    """Read a status, of HTTP or gRPC; what is none of theirs is 999."""
    return int(text) if text.isdecimal() and len(text) < 4 else 999


def whole(body: bytes | bytearray) -> Answer:
    """Return a call's good end, if the body is one whole message as it is."""
    if len(body) >= PREFIX_BYTES and not body[0]:
        message = bytes(body[PREFIX_BYTES:])
        if len(message) == int.from_bytes(body[1:PREFIX_BYTES], "big"):
            return Answer("OK", "", message)
    return Answer("INTERNAL", "the answer is not one uncompressed message")


def of_reset(fault: int, *, answering: bool) -> Answer:
    """Return the end of a call whose stream the server reset, be it amidst its answer."""
    code = next((code for known, code in _BY_FAULT.items() if known == fault), "INTERNAL")
    return Answer(
        code,
        f"the server reset the call: HTTP/2 error {fault}",
        unseen=fault == Fault.REFUSED_STREAM and not answering,
    )


def code_of(number: int) -> str:
    """Return the name of a status code."""
    return CODES[number] if 0 <= number < len(CODES) else "UNKNOWN"
