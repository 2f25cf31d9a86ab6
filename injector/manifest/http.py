"""The parts of an HTTP request in a manifest, checked before the first record is read."""

import re
from urllib.parse import urlsplit

from injector.manifest.fields import wrong
from injector.manifest.template import Piece, text_pieces, url_pieces

MAX_URL = 2083
MAX_HEADERS = 80 * 1024

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")
_SET_BY_SERVICE = re.compile(
    r"(?i)host|content-length|user-agent|x-(cloudtasks|google|appengine)-.*"
)
_ORIGIN = re.compile(r"https?://[^/?#{}\s]+")


def url_template(text: str) -> str:
    """Accept an absolute URL template over http or https."""
    try:
        pieces = url_pieces(text)
    except ValueError as error:
        raise wrong(f"URL {text!r} {error}") from error
    first = pieces[0]
    if first.operator != "+" and not re.match("https?://.", text if first.text else ""):
        raise wrong(f"URL {text!r} must begin with https:// or http://")
    if bad := re.search(r"[\s\x00-\x1f\x7f\\<>\"^`|]", "".join(_literals(pieces))):
        raise wrong(f"URL {text!r} holds {bad[0]!r}; percent-encode it")
    _check_origin(text)
    return text


def webhook_url(text: str) -> str:
    """Accept a URL over https, or over http to this machine."""
    try:
        parts = urlsplit(text)
        local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    except ValueError as error:
        raise wrong(f"webhook {text!r} is not a URL: {error}") from error
    if not parts.hostname or not (parts.scheme == "https" or (parts.scheme == "http" and local)):
        raise wrong(f"webhook {text!r} must begin with https://, or be on this machine")
    return text


def origin_of(template: str) -> str:
    """Return scheme, host and port of a URL template; empty when a record decides them."""
    found = _ORIGIN.match(template)
    rest = template[found.end() :] if found else ""
    return found[0] if found and (not rest or rest[0] in "/?#" or rest.startswith("{/")) else ""


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
        parts = urlsplit(origin_of(text) or "https://host")
        usable = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise wrong(f"URL {text!r} has no usable host and port: {error}") from error
    if not usable:
        raise wrong(f"URL {text!r} has no usable host and port")
