"""The parts of an HTTP request in a manifest, checked before the first record is read."""

import re
from collections.abc import Iterable
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from injector.manifest.fields import wrong
from injector.manifest.template import Piece, text_pieces, url_pieces

MAX_URL = 2083
MAX_HEADERS = 80 * 1024
TOO_LARGE_HEADERS = f"the headers have {MAX_HEADERS} bytes or more; Cloud Tasks takes fewer"

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_NOT_IN_URL = re.compile(r"[^\x21-\x7e]|[\\<>\"^`|]")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SET_BY_SERVICE = re.compile(
    r"(?i)host|content-length|user-agent|x-(cloudtasks|google|appengine)-.*"
)
_ORIGIN = re.compile(r"https?://[^/?#{}\s]*")
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")
_BYTES_A_HEADER = 16  # two tags, three lengths


def url_template(text: str) -> str:
    """Accept an absolute URL template over http or https."""
    try:
        pieces = url_pieces(text)
    except ValueError as error:
        raise wrong(f"URL {text!r} {error}") from error
    first = pieces[0]
    if first.operator != "+" and not re.match("https?://.", text if first.text else ""):
        raise wrong(f"URL {text!r} must begin with https:// or http://")
    _check_origin(text)
    if bad := _NOT_IN_URL.search("".join(_literals(pieces))):
        raise wrong(f"URL {text!r} holds {bad[0]!r}; percent-encode it")
    return text


def webhook_url(text: str) -> str:
    """Accept a URL over https, or over http to this machine."""
    try:
        parts = urlsplit(text)
        local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
        usable = _has_usable_host(parts)
    except ValueError as error:
        raise wrong(f"webhook {text!r} is not a URL: {error}") from error
    if bad := _NOT_IN_URL.search(parts.path + parts.query):
        raise wrong(f"webhook {text!r} holds {bad[0]!r}; percent-encode it")
    if parts.hostname and not usable:
        raise wrong(f"webhook {text!r} has no usable host and port")
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise wrong(f"webhook {text!r} must begin with https://, or be on this machine")
    return text


def origin_of(template: str) -> str:
    """Return scheme, host and port of a URL template; empty when a record decides them."""
    found = _ORIGIN.match(template)
    rest = template[found.end() :] if found else ""
    ends = not rest or rest[0] in "/?#" or rest.startswith(("{/", "{?", "{#"))
    return found[0] if found and ends else ""


def header_name(name: str) -> str:
    """Accept the name of a header that the service passes on."""
    if not _TOKEN.fullmatch(name):
        raise wrong(f"{name!r} is not a header's name; write one such as X-Campaign")
    if _SET_BY_SERVICE.fullmatch(name):
        raise wrong(f"header {name} is set by Cloud Tasks itself; leave it out")
    return name


def header_value(text: str) -> str:
    """Accept a header's text; its `{name}` are filled from each record."""
    literals = "".join(_literals(text_pieces(text)))
    if problem := header_problem(literals):
        raise wrong(problem)
    return text


def fixed_header_problem(headers: Iterable[tuple[str, str]]) -> str:
    """Say why the headers are too large, whatever the records add to them; empty if they fit."""
    fixed = [(name, "".join(_literals(text_pieces(text)))) for name, text in headers]
    return TOO_LARGE_HEADERS if header_size(fixed) >= MAX_HEADERS else ""


def header_size(headers: Iterable[tuple[str, str]]) -> int:
    """Return how many bytes the headers take in a task, or a few more."""
    return sum(len(name) + len(value) + _BYTES_A_HEADER for name, value in headers)


def header_problem(text: str) -> str:
    """Say why a header cannot carry the text; empty when it can."""
    if _VALUE.fullmatch(text):
        return ""
    bad = next(letter for letter in text if not _VALUE.fullmatch(letter))
    return f"a header cannot hold {bad!r}; only visible ASCII, spaces and tabs"


def url_problem(url: str) -> str:
    """Say why a filled URL cannot be a task's; empty when it can."""
    if len(url) > MAX_URL:
        return f"the URL has {len(url)} characters, over {MAX_URL}"
    if not url.startswith(("https://", "http://")):
        return f"the URL {url!r} does not begin with https:// or http://"
    return ""


def _literals(pieces: tuple[Piece, ...]) -> list[str]:
    return [piece.text for piece in pieces if not piece.fields]


def _check_origin(text: str) -> None:
    """Refuse a host or a port that cannot be; one that records decide is judged later."""
    try:
        usable = _has_usable_host(urlsplit(origin_of(text) or "https://host"))
    except ValueError as error:
        raise wrong(f"URL {text!r} has no usable host and port: {error}") from error
    if not usable:
        raise wrong(f"URL {text!r} has no usable host and port")


def _has_usable_host(parts: SplitResult) -> bool:
    """Tell whether a name or an address, and a port, are there; raise ValueError if malformed."""
    host = parts.hostname or ""
    if ":" in host:
        ip_address(host)
        return parts.port != 0
    return bool(_HOST.fullmatch(host)) and parts.port != 0
