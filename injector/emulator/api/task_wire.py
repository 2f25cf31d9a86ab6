"""Ordinary tasks, read and completed as bytes: what the caller sent, and the defaults.

Most tasks are HTTP requests without a token, a deadline, retries of their own, or headers that
the service replaces. Their stored form is what came in with a few fields after it, so it need
not be read and written field by field. All others go the long way, by `task_form`; both ways make
the same task in the same number of bytes.
"""

from functools import lru_cache

from injector.emulator.api import instants, messages
from injector.emulator.api.headers import is_replaced
from injector.emulator.api.task_form import MAX_URL, SCHEMES

_NAME = _URL = 0x0A
_TASK = 0x12
_METHOD = 0x10
_REQUEST = _HEADER = 0x1A
_BODY = _SCHEDULE = 0x22
_POST = b"\x10\x01"
_AGENT = b"\x1a\x20\x0a\x0aUser-Agent\x12\x12Google-Cloud-Tasks"
_TEN_MINUTES = b"\x32\x03\x08\xd8\x04"
_SCHEMES = tuple(scheme.encode() for scheme in SCHEMES)
_METHODS_WITH_BODY = frozenset((0, 1, 4, 6))
_LONGEST_HEAD = 4096
"""Longer headers go the long way, where their 80 KB are counted, and are not kept for reuse."""

Ordinary = tuple[str, bytes, bytes, bytes]
"""A task's name, its serialized request without the body, the body's and the schedule's fields."""
Span = tuple[int, int]


def read(whole: bytes, at: int, end: int) -> Ordinary | None:
    """Return an ordinary task; None if it is another, or is to be refused.

    It lies between two places of what protobuf has serialized, so that its fields are in their
    order and within their bounds.
    """
    name = ""
    if at < end and whole[at] == _NAME:
        start, at = _span(whole, at + 1)
        name = whole[start:at].decode()
    if at >= end or whole[at] != _REQUEST:
        return None
    start, stop = _span(whole, at + 1)
    if stop < end and not _is_last(whole, stop, end, _SCHEDULE):
        return None
    request = _request(whole, start, stop)
    return None if request is None else (name, *request, whole[stop:end])


def read_batch(whole: bytes, parent: str, number: int) -> list[Ordinary | None]:
    """Return the tasks of a serialized batch; None for what is not an ordinary one.

    Nor is a create that names another parent than the batch's, or asks for a view.
    """
    named = parent.encode()
    expected = b"\x0a%b%b" % (varint(len(named)), named)
    if not (named and whole.startswith(expected)):
        return [None] * number
    found = []
    at = len(expected)
    for _ in range(number):
        start, at = _span(whole, at + 1)
        if whole.startswith(expected, start, at):
            start += len(expected)
        found.append(_of_create(whole, start, at))
    return found


def forms(name: str, request: bytes, body: bytes, due: float, now: float) -> tuple[bytes, bytes]:
    """Return the stored form of a task, due and created then, and the same without its body."""
    named = name.encode()
    size = len(request)
    first = b"\x0a%b%b\x1a" % (varint(len(named)), named)
    last = _times(due, int(now))
    bodiless = b"".join((first, varint(size), request, last))
    if not body:
        return bodiless, bodiless
    return b"".join((first, varint(size + len(body)), request, body, last)), bodiless


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
def schedule_of(field: bytes) -> messages.Timestamp:
    """Return the time in a serialized schedule time's field."""
    start, stop = _span(field, 1)
    return messages.Timestamp.FromString(field[start:stop])


def _of_create(whole: bytes, at: int, end: int) -> Ordinary | None:
    if at == end or whole[at] != _TASK:
        return None
    start, stop = _span(whole, at + 1)
    return read(whole, start, stop) if stop == end else None


def _span(whole: bytes, at: int) -> Span:
    """Return where a field's value lies, given where its length begins."""
    size, shift = whole[at], 7
    at += 1
    if size > 0x7F:
        size &= 0x7F
        while whole[at - 1] > 0x7F:
            size |= (whole[at] & 0x7F) << shift
            at += 1
            shift += 7
    return at, at + size


def _is_last(whole: bytes, at: int, end: int, tag: int) -> bool:
    """Tell whether a field of that tag is all that follows."""
    return whole[at] == tag and _span(whole, at + 1)[1] == end


def _request(whole: bytes, start: int, stop: int) -> tuple[bytes, bytes] | None:
    """Return an ordinary request, completed, without its body, and the body's field."""
    if start == stop or whole[start] != _URL:
        return None
    at, after_url = _span(whole, start + 1)
    url = whole[at:after_url]
    if not (url.startswith(_SCHEMES) and len(url) <= MAX_URL and url.isascii()):
        return None
    at = _end_of_headers(whole, after_url, stop)
    if at < stop and not _is_last(whole, at, stop, _BODY):
        return None
    if at - after_url > _LONGEST_HEAD:
        return None
    rest = _completed(whole[after_url:at])
    return None if rest is None else (whole[start:after_url] + rest, whole[at:stop])


def _end_of_headers(whole: bytes, at: int, stop: int) -> int:
    """Return where a request's method and headers end."""
    if at < stop and whole[at] == _METHOD:
        at += 1
        while whole[at] > 0x7F:  # a number that no method has
            at += 1
        at += 1
    while at < stop and whole[at] == _HEADER:
        at = _span(whole, at + 1)[1]
    return at


@lru_cache(maxsize=1024)
def _completed(rest: bytes) -> bytes | None:
    """Return a request's method and headers with the defaults; None unless they are ordinary."""
    try:
        request = messages.HttpRequest.FromString(rest)
    except messages.DecodeError:  # what lies there is no method and headers
        return None
    is_ordinary = request.http_method in _METHODS_WITH_BODY and not any(
        map(is_replaced, request.headers)
    )
    return rest + (b"" if request.http_method else _POST) + _AGENT if is_ordinary else None


@lru_cache(maxsize=64)
def _times(due: float, created: int) -> bytes:
    """Return the fields of the schedule time, the time of creation, and the usual deadline.

    The tasks of a batch share them.
    """
    message = messages.Task()
    instants.write(message.schedule_time, due)
    message.create_time.seconds = created
    return message.SerializeToString() + _TEN_MINUTES
