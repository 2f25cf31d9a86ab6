"""Where a redirect leads an attempt, as HTTP clients have come to do it (RFC 9110, 15.4)."""

from dataclasses import replace
from urllib.parse import urljoin, urlsplit

from injector.emulator.transport.attempts import Attempt
from injector.emulator.transport.target_connection import Reply

_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_KEEPING_METHOD = frozenset((307, 308))


def location(reply: Reply) -> str | None:
    """Return where a reply redirects to; None if it does not."""
    if reply.status not in _REDIRECTS:
        return None
    return next((value for name, value in reply.headers if name.lower() == "location"), None)


def redirected(attempt: Attempt, status: int, to: str) -> Attempt:
    """Return the attempt that follows a redirect.

    A POST becomes a GET without a body, unless the status says to keep it; another server is
    not shown the task's token.
    """
    url = urljoin(attempt.url, to)
    if urlsplit(url)[:2] != urlsplit(attempt.url)[:2]:
        attempt = replace(attempt, host="", headers=_without(attempt, "authorization"))
    if status in _KEEPING_METHOD or attempt.method in {"GET", "HEAD"}:
        return replace(attempt, url=url)
    return replace(
        attempt, url=url, method="GET", body=b"", headers=_without(attempt, "content-type")
    )


def _without(attempt: Attempt, header: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in attempt.headers if name.lower() != header)
