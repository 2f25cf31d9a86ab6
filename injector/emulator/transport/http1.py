"""A request to a target on the wire (RFC 9112), to the letter."""

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import quote, urlsplit

from injector.emulator.transport.attempts import Attempt

_OURS = frozenset(
    ("connection", "content-length", "host", "keep-alive", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade")
)  # fmt: skip
_BODILESS = frozenset(("DELETE", "GET", "HEAD", "OPTIONS"))
_DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"([A-Za-z]+://[^/?#]*)([^#]*)", re.DOTALL)
_AS_THEY_ARE = "".join(map(chr, range(0x21, 0x7F)))
_PLAIN = re.compile(r"[!-~]*")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a connection leads, and what Host says there."""

    scheme: str
    host: str
    port: int
    named: str


@dataclass(frozen=True, slots=True)
class Request:
    """The bytes of a request, and where they go; an answer to HEAD has no body."""

    origin: Origin
    wire: bytes
    is_head: bool


def request(attempt: Attempt) -> Request:
    """Render an attempt; raise ValueError with what cannot be sent.

    Of the URL, what HTTP allows stays as it was written, broken escapes included; a fragment and
    a user's name are not sent. Headers that frame the message are ours whatever the task says.
    """
    server, path = _split(attempt.url)
    origin = _origin(server)
    lines = [f"{attempt.method} {path} HTTP/1.1", f"Host: {attempt.host or origin.named}"]
    lines += [f"{name}: {value}" for name, value in _sendable(attempt.headers)]
    if attempt.body or attempt.method not in _BODILESS:
        lines.append(f"Content-Length: {len(attempt.body)}")
    head = "\r\n".join([*lines, "", ""]).encode()
    return Request(origin, head + attempt.body, attempt.method == "HEAD")


def _split(url: str) -> tuple[str, str]:
    """Return a URL's scheme and server, and its path with the query as HTTP may carry them."""
    found = _URL.match(url)
    if found is None:
        raise ValueError(f"{url!r} is not an absolute URL")
    server, path = found.groups()
    if not path.startswith("/"):
        path = f"/{path}"
    return server, path if _PLAIN.fullmatch(path) else quote(path, safe=_AS_THEY_ARE)


@lru_cache(maxsize=4096)
def _origin(server: str) -> Origin:
    parts = urlsplit(server)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise ValueError(f"{server!r} is not an http or https server")
    port = _DEFAULT_PORTS[parts.scheme] if parts.port is None else parts.port
    named = parts.netloc.rpartition("@")[2].encode("idna").decode()
    return Origin(parts.scheme, parts.hostname, port, _clean("host", named))


@lru_cache(maxsize=4096)
def _is_ours(name: str) -> bool:
    if not _TOKEN.fullmatch(name):
        raise ValueError(f"header {name!r} cannot be sent")
    return name.lower() in _OURS


def _sendable(headers: Headers) -> Headers:
    """Return the headers that are not ours; the values are checked at once, as a rule."""
    kept = tuple([header for header in headers if not _is_ours(header[0])])
    if _UNSENDABLE.search("".join([value for _, value in kept])):
        for name, value in kept:
            _clean(name, value)
    return kept


def _clean(name: str, value: str) -> str:
    if _UNSENDABLE.search(value):
        raise ValueError(f"header {name!r} cannot be sent: {value!r}")
    return value
