"""The headers that a task keeps: the caller's, less what the service sets itself."""

from collections.abc import MutableMapping
from functools import lru_cache

from injector.emulator.api.refusals import invalid

HTTP_AGENT = "Google-Cloud-Tasks"
APP_ENGINE_AGENT = "AppEngine-Google; (+http://code.google.com/appengine)"
_RESERVED = ("x-google-", "x-appengine-", "x-cloudtasks-")
_COMPUTED = frozenset({"host", "content-length"})
MAX_BYTES = 80 * 1024


@lru_cache(maxsize=4096)
def is_reserved(name: str) -> bool:
    """Tell whether callers may not set a header: the service computes or forbids it."""
    lower = name.lower()
    return lower in _COMPUTED or lower.startswith(_RESERVED)


@lru_cache(maxsize=4096)
def is_replaced(name: str) -> bool:
    """Tell whether an HTTP task's header gives way to the service's own."""
    return is_reserved(name) or name.lower() == "user-agent"


def keep_for_http(headers: MutableMapping[str, str]) -> None:
    """Bring an HTTP task's headers into the form that is stored; casing is kept."""
    for name in [name for name in headers if is_replaced(name)]:
        del headers[name]
    headers["User-Agent"] = HTTP_AGENT


def check_size(headers: MutableMapping[str, str]) -> None:
    """Check that an HTTP task's headers stay below 80 KB."""
    size = sum(len(name.encode()) + len(value.encode()) for name, value in headers.items())
    if size >= MAX_BYTES:
        raise invalid("The size of HttpRequest.headers must be less than 80KB.")


def keep_for_app_engine(headers: MutableMapping[str, str], *, body: bytes) -> None:
    """Bring an App Engine task's headers into the form that is stored."""
    agent, typed = "", False
    for name in list(headers):
        lower = name.lower()
        if lower == "user-agent":
            agent = headers[name] + " "
        typed = typed or lower == "content-type"
        if is_replaced(name):
            del headers[name]
    headers["User-Agent"] = agent + APP_ENGINE_AGENT
    headers["Content-Length"] = str(len(body))
    if body and not typed:
        headers["Content-Type"] = "application/octet-stream"
