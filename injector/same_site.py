"""Requests that another site makes a browser send.

A sign-in or a proxy before the service adds the person's credentials to whatever the browser
sends, so a page elsewhere could pause jobs. Browsers say where a request comes from; the order
of the questions is that of Go's http.CrossOriginProtection. Programs say nothing, and pass.
"""

from urllib.parse import urlsplit

from werkzeug.datastructures import Headers

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def is_forged(method: str, headers: Headers) -> bool:
    """Tell whether a browser sends this for a page of another site."""
    site = headers.get("Sec-Fetch-Site", "")
    if method in SAFE or site in {"same-origin", "none"}:
        return False
    if site:
        return True
    origin = headers.get("Origin", "")
    return bool(origin) and urlsplit(origin).netloc != headers.get("Host", "")
