"""Page tokens: where the next page starts, for whom, and until when."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable
from typing import TypeVar
from zlib import crc32

from injector.emulator.api import messages
from injector.emulator.api.refusals import invalid

_Item = TypeVar("_Item", bound=messages.Message)
_VALID_S = 2 * 3600.0
_FULL_BYTES = 4_000_000
"""How much a page holds, but for one item that is larger by itself: below the 4 MiB that a gRPC
channel takes unless it is told otherwise, as Google's own are."""


def size(asked: int, largest: int) -> int:
    """Return how many items a page holds; 0 asks for as many as there may be."""
    if asked < 0:
        raise invalid("page_size must not be negative.")
    return min(asked or largest, largest)


def fill(page: list[_Item], items: Iterable[_Item]) -> int:
    """Put items on a page as long as they fit, but at least one; return how many it took."""
    size = 0
    for item in items:
        size += item.ByteSize()
        if page and size > _FULL_BYTES:
            break
        page.append(item)
    return len(page)


def write(after: str, *, scope: str, now: float) -> str:
    """Return the token of the page that follows the item `after`."""
    body = f"{crc32(scope.encode()):x}.{now + _VALID_S:.0f}.{after}"
    return urlsafe_b64encode(f"{crc32(body.encode()):x}.{body}".encode()).decode()


def read(token: str, *, scope: str, now: float) -> str:
    """Return what a page follows; empty for the first one.

    Raises RpcError for a token that is invented, over two hours old, or from another list or
    filter: a token belongs to the request that it was made for.
    """
    if not token:
        return ""
    check, _, body = _decoded(token).partition(".")
    of, _, rest = body.partition(".")
    until, _, after = rest.partition(".")
    if not body or check != f"{crc32(body.encode()):x}":
        raise invalid("The page token is not valid.")
    if of != f"{crc32(scope.encode()):x}":
        raise invalid("The page token belongs to another list or filter.")
    if now > float(until):
        raise invalid("The page token is valid for 2 hours only.")
    return after


def _decoded(token: str) -> str:
    try:
        return urlsafe_b64decode(token.encode()).decode()
    except (NotBase64, UnicodeError):
        return ""
