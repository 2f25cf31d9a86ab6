"""The attributes of a message, checked before the first record is read and for each record."""

import re

from injector.manifest.fields import wrong
from injector.manifest.template import text_pieces
from injector.publish_wire import ID_ATTRIBUTE

MAX_ATTRIBUTES = 99
"""How many a manifest may have: Pub/Sub takes 100, and one is `injector-id`."""

MAX_NAME = 256
MAX_VALUE = 1024
MAX_ORDERING_KEY = 1024

_RESERVED = re.compile(r"(?i)goog")


def attribute_name(name: str) -> str:
    """Accept the name of an attribute."""
    if not name:
        raise wrong("an attribute needs a name")
    if (size := len(name.encode())) > MAX_NAME:
        raise wrong(f"attribute {name[:20]}… has a name of {size} bytes, over {MAX_NAME}")
    if _RESERVED.match(name):
        raise wrong(f"attribute {name} begins with goog, which is Google's; name it otherwise")
    if name == ID_ATTRIBUTE:
        raise wrong(f"attribute {name} is set by the injector itself; leave it out")
    return name


def attribute_template(text: str) -> str:
    """Accept the text of an attribute; its `{name}` are filled from each record."""
    fixed = "".join(piece.text for piece in text_pieces(text) if not piece.fields)
    if problem := size_problem(fixed, MAX_VALUE):
        raise wrong(problem)
    return text


def size_problem(text: str, most: int) -> str:
    """Say why the text is too long or no text; empty when it will do."""
    if len(text) * 4 <= most and text.isascii():
        return ""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        return f"is not UTF-8: {error.reason}"
    return f"has {size} bytes, over {most}" if size > most else ""
