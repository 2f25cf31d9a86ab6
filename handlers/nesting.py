"""How deep JSON is nested, told before a parser goes down into it."""

import re

_STEP = re.compile(rb'(?s)"(?:[^"\\]++|\\.)*+"?|([\[{])|([\]}])')
"""A text, with or without its end, an opening or a closing bracket."""


def is_deeper(content: bytes, most: int) -> bool:
    """Tell whether brackets are open within more than `most` levels at any place.

    Reads each byte once, and no further than that place; what is no JSON is another's to say.
    """
    depth = 0
    for step in _STEP.finditer(content):
        if step[1]:
            depth += 1
        elif step[2]:
            depth -= 1
        if depth > most:
            return True
    return False
