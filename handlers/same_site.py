"""Requests that another site makes a browser send.

A proxy or a sign-in before the service adds the person's credentials to whatever the browser
sends, so a page elsewhere could pause jobs. Browsers say where a request comes from; the order
of the questions is that of Go's http.CrossOriginProtection. Programs say nothing, and pass.
"""

from urllib.parse import urlsplit

from flask import Flask, Response, request
from werkzeug.datastructures import Headers

from handlers.logs import event
from handlers.problems import problem

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


def register(app: Flask) -> None:
    """Refuse changes that another site asks for."""
    app.before_request(_refuse)


def is_forged(method: str, headers: Headers) -> bool:
    """Tell whether a browser sends this for a page of another site."""
    site = headers.get("Sec-Fetch-Site", "")
    if method in SAFE or site in {"same-origin", "none"}:
        return False
    if site:
        return True
    origin = headers.get("Origin", "")
    return bool(origin) and urlsplit(origin).netloc != headers.get("Host", "")


def _refuse() -> Response | None:
    if not is_forged(request.method, request.headers):
        return None
    event("caller.refused", "WARNING", why="a page of another site asks")
    return problem(403, "a page of another site may not ask for changes here")
