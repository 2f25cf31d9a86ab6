"""Requests that are marked with an Idempotency-Key: done once, however often they come.

As in https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header: a repeat gets
the first answer, the same key on another request is refused, and so is a repeat that comes
before the first is answered. What failed was not done, so its key is free again.
"""

import hashlib
from collections.abc import Callable
from functools import wraps

from flask import Response, request

from handlers.access import caller
from handlers.context import parts, read_body
from handlers.problems import problem
from injector.errors import Conflict, Misused
from injector.ledger.ports import Given

MAX_BODY = 1024 * 1024
PATIENCE_S = 120.0
HEADER = "Idempotency-Key"

View = Callable[..., Response]


def once(view: View) -> View:
    """Let a view be called once for each key."""

    @wraps(view)
    def answer(**place: object) -> Response:
        key = request.headers.get(HEADER, "")
        return _once(_checked(key), lambda: view(**place)) if key else view(**place)

    return answer


def _once(key: str, act: Callable[[], Response]) -> Response:
    answers, now = parts().ledger.answers, parts().clock.now()
    try:
        given = answers.begin(_scoped(key), _question(), now=now, patience_s=PATIENCE_S)
    except Conflict as error:
        return problem(422, str(error))
    if given:
        return _again(given)
    try:
        made = act()
    except Exception:
        answers.drop(_scoped(key))
        raise
    answers.give(_scoped(key), Given(made.status_code, made.get_data(as_text=True)))
    return made


def _again(given: Given) -> Response:
    if given.status is None:
        raise Conflict("the request with this Idempotency-Key is still under way; ask again later")
    return Response(given.body, given.status, content_type="application/json")


def _checked(key: str) -> str:
    if len(key) > 255 or not key.isprintable() or not key.isascii():
        raise Misused(f"{HEADER}: needs up to 255 printable ASCII characters")
    return key


def _scoped(key: str) -> str:
    """Keep apart the keys of several callers."""
    return hashlib.sha256(f"{caller().name}\n{key}".encode()).hexdigest()


def _question() -> str:
    content = read_body(MAX_BODY, keep=True)
    head = f"{request.method} {request.path} {request.headers.get('If-Match', '')}\n"
    return hashlib.sha256(head.encode() + content).hexdigest()
