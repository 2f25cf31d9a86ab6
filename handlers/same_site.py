"""Refuse what another site makes a browser send."""

from flask import Flask, Response, request

from handlers.logs import event
from handlers.problems import problem
from injector.same_site import is_forged


def register(app: Flask) -> None:
    """Refuse changes that another site asks for."""
    app.before_request(_refuse)


def _refuse() -> Response | None:
    if not is_forged(request.method, request.headers):
        return None
    event("caller.refused", "WARNING", why="a page of another site asks")
    return problem(403, "a page of another site may not ask for changes here")
