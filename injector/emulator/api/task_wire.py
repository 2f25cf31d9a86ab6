"""Ordinary tasks, completed and answered as bytes: what the caller sent, and the defaults.

Most tasks are HTTP requests without a token, a deadline, retries of their own, or headers that
the service replaces. Their stored form is what came in with a few fields after it, so it need
not be written field by field and serialized twice more. All others go the long way, by
`task_form`; both ways make the same task in the same number of bytes.
"""

from functools import lru_cache

from injector.emulator.api import instants, messages
from injector.emulator.api.headers import is_replaced
from injector.emulator.api.task_form import MAX_URL, SCHEMES

_BODY = _SCHEDULE = b"\x22"
_POST = b"\x10\x01"
_AGENT = b"\x1a\x20\x0a\x0aUser-Agent\x12\x12Google-Cloud-Tasks"
_TEN_MINUTES = b"\x32\x03\x08\xd8\x04"
_METHODS_WITH_BODY = frozenset((0, 1, 4, 6))
_LONGEST_HEAD = 4096
"""Longer headers go the long way, where their 80 KB are counted, and are not kept for reuse."""

Request = tuple[bytes, bytes]
"""A serialized HTTP request: all but the body, and the field of the body."""


def request_of(message: messages.Task) -> Request | None:
    """Return an ordinary task's request; None if the task is another, or is to be refused."""
    request = message.http_request
    url, content = request.url, request.body
    if not (url.startswith(SCHEMES) and len(url) <= MAX_URL and url.isascii()):
        return None
    whole = message.SerializeToString()
    start, end = _span(whole, len(message.name.encode()))
    if len(whole) > end and not _is_schedule(whole, end):
        return None
    body = _BODY + varint(len(content)) + content if content else b""
    address = start + 1 + len(varint(len(url))) + len(url)
    between = end - len(body)
    if between - address > _LONGEST_HEAD or not whole.endswith(body, address, end):
        return None
    rest = _completed(whole[address:between])
    return None if rest is None else (whole[start:address] + rest, body)


def forms(name: str, request: Request, due: float, now: float) -> tuple[bytes, bytes]:
    """Return the stored form of a task, due and created then, and the same without its body."""
    head, body = request
    named = name.encode()
    first = b"\x0a%b%b\x1a" % (varint(len(named)), named)
    last = _times(due, int(now))
    bodiless = b"%b%b%b%b" % (first, varint(len(head)), head, last)
    if not body:
        return bodiless, bodiless
    return b"%b%b%b%b%b" % (first, varint(len(head) + len(body)), head, body, last), bodiless


@lru_cache(maxsize=8192)
def varint(number: int) -> bytes:
    """Return a number as protobuf writes it."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


@lru_cache(maxsize=1024)
def _completed(rest: bytes) -> bytes | None:
    """Return a request's method and headers with the defaults; None unless they are ordinary.

    Nothing else may lie between URL and body, which also rules out a token after the body: its
    bytes would be taken for headers here.
    """
    try:
        request = messages.HttpRequest.FromString(rest)
    except messages.DecodeError:
        return None
    is_ordinary = (
        not (request.url or request.body)
        and request.http_method in _METHODS_WITH_BODY
        and request.WhichOneof("authorization_header") is None
        and not any(map(is_replaced, request.headers))
    )
    return rest + (b"" if request.http_method else _POST) + _AGENT if is_ordinary else None


def _span(whole: bytes, name: int) -> tuple[int, int]:
    """Return where the HTTP request lies in a task with a name of so many bytes.

    The name is the first field, the request the next one, as protobuf orders them.
    """
    at = name + 2 + len(varint(name)) if name else 1
    size, shift = whole[at] & 0x7F, 7
    while whole[at] > 0x7F:
        at += 1
        size |= (whole[at] & 0x7F) << shift
        shift += 7
    return at + 1, at + 1 + size


def _is_schedule(whole: bytes, at: int) -> bool:
    """Tell whether a task's schedule time is all that follows."""
    return whole[at] == _SCHEDULE[0] and len(whole) == at + 2 + whole[at + 1]


@lru_cache(maxsize=64)
def _times(due: float, created: int) -> bytes:
    """Return the fields of the schedule time, the time of creation, and the usual deadline.

    The tasks of a batch share them.
    """
    message = messages.Task()
    instants.write(message.schedule_time, due)
    message.create_time.seconds = created
    return message.SerializeToString() + _TEN_MINUTES
