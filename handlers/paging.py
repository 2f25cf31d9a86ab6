"""Query parameters that many routes take."""

from flask import request

from injector.errors import Misused

MAX_LIMIT = 1000


def whole_number(name: str, *, default: int, least: int, most: int) -> int:
    """Return a parameter as a number; raise Misused that names its range."""
    text = request.args.get(name, "")
    if not text:
        return default
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise Misused(f"{name}={text!r}: needs a number from {least} to {most}")
    number = int(text)
    if not least <= number <= most:
        raise Misused(f"{name}={text}: needs a number from {least} to {most}")
    return number


def limit(default: int = 100) -> int:
    """Return how many items to answer with."""
    return whole_number("limit", default=default, least=1, most=MAX_LIMIT)
