"""What a handler reaches: the application's parts, and the request's body."""

from flask import current_app, request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import RequestEntityTooLarge

from handlers.drain import Drain
from handlers.parts import Parts
from handlers.seats import Seats
from injector.errors import Misused


def parts() -> Parts:
    """Return the parts of the application that answers."""
    found: Parts = current_app.extensions["parts"]
    return found


def drain() -> Drain:
    """Return whether this process is ending."""
    found: Drain = current_app.extensions["drain"]
    return found


def seats() -> Seats:
    """Return the seats that this process has for fan-outs."""
    found: Seats = current_app.extensions["seats"]
    return found


def read_body(limit: int, *, keep: bool = False) -> bytes:
    """Return the body as it came, whatever type it claims to be; `keep` lets it be read again.

    Raises RequestEntityTooLarge, before anything is read where the length is stated. Where it
    is not, Werkzeug ends a body at the limit without a word, so one byte more is asked for.
    Raises Misused for a body whose chunks HTTP does not allow.
    """
    request.max_content_length = limit + 1
    try:
        body = request.get_data(cache=keep)
    except ParseException as error:
        raise Misused(f"the body is not sent as HTTP has it: {error}") from error
    if len(body) > limit:
        raise RequestEntityTooLarge
    return body
