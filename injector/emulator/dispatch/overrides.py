"""What a queue's HTTP target changes of its tasks' requests."""

from urllib.parse import SplitResult, urlsplit, urlunsplit

from injector.emulator.api import messages
from injector.emulator.api.headers import is_replaced

_SCHEMES = {1: "http", 2: "https"}
_IF_NOT_EXISTS = 1
Headers = list[tuple[str, str]]


def override_url(url: str, override: messages.UriOverride) -> str:
    """Return the URL that a task is sent to; a URL that cannot be read stays as it is.

    In mode IF_NOT_EXISTS only those parts are set that the task's URL does not have.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return url
    if override.uri_override_enforce_mode == _IF_NOT_EXISTS:
        return _fill_in(parts, override, host, port)
    return _replace(parts, override, host, port)


def override_headers(headers: Headers, target: messages.HttpTarget) -> Headers:
    """Return the headers with the queue's in place of the task's of the same names."""
    given = [(o.header.key, o.header.value) for o in target.header_overrides]
    queue = [(key, value) for key, value in given if not is_replaced(key)]
    replaced = {key.lower() for key, _ in queue}
    return [(key, value) for key, value in headers if key.lower() not in replaced] + queue


def _replace(
    parts: SplitResult, override: messages.UriOverride, host: str, port: int | None
) -> str:
    if override.host:
        host, own = _host_and_port(override.host)
        port = own or port
    if override.HasField("port"):
        port = override.port or None
    netloc = _netloc(parts, host, port)
    path = override.path_override.path if override.HasField("path_override") else parts.path
    query = parts.query
    if override.HasField("query_override"):
        query = override.query_override.query_params
    scheme = _SCHEMES.get(override.scheme, parts.scheme)
    return urlunsplit((scheme, netloc, _rooted(path), query.removeprefix("?"), parts.fragment))


def _host_and_port(text: str) -> tuple[str, int | None]:
    """Split a port off a host; an IPv6 address, which has several colons, has none."""
    host, colon, port = text.rpartition(":")
    is_split = bool(colon) and ":" not in host and port.isascii() and port.isdigit()
    return (host, int(port)) if is_split else (text, None)


def _fill_in(
    parts: SplitResult, override: messages.UriOverride, host: str, port: int | None
) -> str:
    netloc = _netloc(parts, host or override.host, port or override.port or None)
    path = parts.path if parts.path not in ("", "/") else override.path_override.path or parts.path
    query = parts.query or override.query_override.query_params
    return urlunsplit((parts.scheme, netloc, _rooted(path), query, parts.fragment))


def _netloc(parts: SplitResult, host: str, port: int | None) -> str:
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    bracketed = f"[{host}]" if ":" in host and not host.startswith("[") else host
    return f"{user}{bracketed}" + (f":{port}" if port else "")


def _rooted(path: str) -> str:
    return path if not path or path.startswith("/") else f"/{path}"
