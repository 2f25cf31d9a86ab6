"""Ordinary tasks, read and completed as bytes: what the caller sent, and the defaults.

Most tasks are HTTP requests without a token, a deadline, retries of their own, or headers that
the service replaces. Their stored form is what came in with a few fields after it, so it need
not be read and written field by field. All others go the long way, by `task_form`; both ways make
the same task in the same number of bytes. So a task is ordinary only if it came as protobuf's own
libraries write it: its fields in their order, each once, and no number longer than it need be.
"""

from functools import lru_cache

from injector.emulator.api import instants, messages
from injector.emulator.api.headers import is_replaced
from injector.emulator.api.task_form import MAX_URL, SCHEMES

_PARENT = _NAME = _URL = 0x0A
_TASK = _CREATE = 0x12
_METHOD = 0x10
_REQUEST = _HEADER = _REQUEST_ID = 0x1A
_BODY = _SCHEDULE = 0x22
VIEW = {messages.BASIC: b"\x58\x01", messages.FULL: b"\x58\x02"}
"""The field `view`, serialized: appended to a stored form, it makes an answer of it."""
_VIEWS = {b"": messages.BASIC, b"\x18\x01": messages.BASIC, b"\x18\x02": messages.FULL}
"""What may follow a create's task, and the view that it asks for."""
_POST = b"\x10\x01"
_AGENT = b"\x1a\x20\x0a\x0aUser-Agent\x12\x12Google-Cloud-Tasks"
_TEN_MINUTES = b"\x32\x03\x08\xd8\x04"
_SCHEMES = tuple(scheme.encode() for scheme in SCHEMES)
_METHODS_WITH_BODY = frozenset((0, 1, 4, 6))
_LONGEST_HEAD = 4096
"""Longer headers go the long way, where their 80 KB are counted, and are not kept for reuse."""
_UNREADABLE = (IndexError, UnicodeDecodeError, messages.DecodeError)
"""How reading ends where the bytes end too early, or are not protobuf's."""

Request = tuple[bytes, bytes, bytes]
"""A request's fields: the URL; the method and the headers, with the defaults; the body."""
Ordinary = tuple[str, Request, messages.Timestamp | None]
"""A task's name, its request, and when it is to be sent, if it says so."""
Create = tuple[str, Ordinary, int]
"""A create's parent, its task, and the view of it that it asks for."""
Batch = tuple[str, str, list[Ordinary | None]]
"""A batch's parent, its request id, and its tasks; None for what is not an ordinary one."""
Span = tuple[int, int]


def read_create(whole: bytes) -> Create | None:
    """Return a create as its client sent it; None unless it is one of an ordinary task."""
    try:
        return _create(whole)
    except _UNREADABLE:
        return None


def read_batch(whole: bytes) -> Batch | None:
    """Return a batch as its client sent it; None if it cannot be read, or says more.

    A create that names another parent than the batch's, or asks for a view, is not ordinary.
    """
    try:
        return _batch(whole)
    except _UNREADABLE:
        return None


def read(whole: bytes) -> Ordinary | None:
    """Return an ordinary task; None if it is another, or is to be refused."""
    try:
        return _task(whole, 0, len(whole))
    except _UNREADABLE:
        return None


def forms(prefix: str, task_id: str, request: Request, times: bytes) -> tuple[bytes, bytes]:
    """Return the stored form of a task with these `times`, and how a create answers it.

    The answer has no body: its view is BASIC.
    """
    url, head, body = request
    named = _named(prefix, len(task_id)) + task_id.encode()
    size = len(url) + len(head)
    answer = b"".join((named, b"\x1a", varint(size), url, head, times, VIEW[messages.BASIC]))
    if not body:
        return answer[:-2], answer
    return b"".join((named, b"\x1a", varint(size + len(body)), url, head, body, times)), answer


def times(due: float, *, created: float) -> bytes:
    """Return the fields of the schedule time, the time of creation, and the usual deadline."""
    seconds, micros = divmod(round(due * instants.MICROSECONDS), instants.MICROSECONDS)
    nanos = _nanos(micros * 1000) if micros else b""
    before, after = _around_nanos(seconds, len(nanos), int(created))
    return before + nanos + after


@lru_cache(maxsize=8192)
def varint(number: int) -> bytes:
    """Return a number as protobuf writes it."""
    return _written(number)


def _written(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _create(whole: bytes) -> Create | None:
    if whole[0] != _PARENT:
        return None
    at, end = _span(whole, 1)
    parent = whole[at:end].decode()
    if whole[end] != _TASK:
        return None
    at, end = _span(whole, end + 1)
    view = _VIEWS.get(whole[end:])
    if view is None or end > len(whole):
        return None
    task = _task(whole, at, end)
    return None if task is None else (parent, task, view)


def _batch(whole: bytes) -> Batch | None:
    if whole[0] != _PARENT:
        return None
    at, end = _span(whole, 1)
    parent, named = whole[at:end].decode(), whole[:end]
    tasks: list[Ordinary | None] = []
    while end < len(whole) and whole[end] == _CREATE:
        at, end = _span(whole, end + 1)
        if whole.startswith(named, at, end):
            at += len(named)
        tasks.append(_of_create(whole, at, end))
    request_id = ""
    if end < len(whole) and whole[end] == _REQUEST_ID:
        at, end = _span(whole, end + 1)
        request_id = whole[at:end].decode()
    return (parent, request_id, tasks) if end == len(whole) else None


def _of_create(whole: bytes, at: int, end: int) -> Ordinary | None:
    if at == end or whole[at] != _TASK:
        return None
    start, stop = _span(whole, at + 1)
    return _task(whole, start, stop) if stop == end else None


def _task(whole: bytes, at: int, end: int) -> Ordinary | None:
    """Return the ordinary task that lies between two places."""
    name = ""
    if at < end and whole[at] == _NAME:
        start, at = _span(whole, at + 1)
        name = whole[start:at].decode()
    if at >= end or whole[at] != _REQUEST:
        return None
    start, stop = _span(whole, at + 1)
    if stop == end:
        schedule = None
    elif stop < end and _is_last(whole, stop, end, _SCHEDULE):
        schedule = _schedule(whole[stop:end])
    else:
        return None
    request = _request(whole, start, stop)
    return None if request is None else (name, request, schedule)


def _request(whole: bytes, start: int, stop: int) -> Request | None:
    """Return the ordinary request that lies between two places, completed."""
    if start == stop or whole[start] != _URL:
        return None
    at, after_url = _span(whole, start + 1)
    url = whole[at:after_url]
    if not (url.startswith(_SCHEMES) and len(url) <= MAX_URL and url.isascii()):
        return None
    at = _end_of_headers(whole, after_url, stop)
    if at != stop and (at > stop or not _is_last(whole, at, stop, _BODY) or not whole[at + 1]):
        return None
    if at - after_url > _LONGEST_HEAD:
        return None
    head = _completed(whole[after_url:at])
    return None if head is None else (whole[start:after_url], head, whole[at:stop])


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


def _is_last(whole: bytes, at: int, end: int, tag: int) -> bool:
    """Tell whether a field of that tag is all that follows."""
    return whole[at] == tag and _span(whole, at + 1)[1] == end


def _span(whole: bytes, at: int) -> Span:
    """Return where a field's value lies, given where its length begins."""
    size = whole[at]
    if size <= 0x7F:
        return at + 1, at + 1 + size
    high = whole[at + 1]
    if 0 < high <= 0x7F:
        return at + 2, at + 2 + (size & 0x7F | high << 7)
    return _long_span(whole, at)


def _long_span(whole: bytes, at: int) -> Span:
    size = shift = 0
    while whole[at] > 0x7F:
        size |= (whole[at] & 0x7F) << shift
        at += 1
        shift += 7
    if not whole[at]:
        raise IndexError("a length that is longer than it need be")
    return at + 1, at + 1 + (size | whole[at] << shift)


@lru_cache(maxsize=1024)
def _completed(rest: bytes) -> bytes | None:
    """Return a request's method and headers with the defaults; None unless they are ordinary."""
    request = messages.HttpRequest.FromString(rest)
    if request.ByteSize() != len(rest):  # a field came twice, or was written at length
        return None
    is_ordinary = request.http_method in _METHODS_WITH_BODY and not any(
        map(is_replaced, request.headers)
    )
    return rest + (b"" if request.http_method else _POST) + _AGENT if is_ordinary else None


@lru_cache(maxsize=1024)
def _schedule(field: bytes) -> messages.Timestamp:
    """Return the time in a serialized schedule time's field."""
    start, stop = _span(field, 1)
    return messages.Timestamp.FromString(field[start:stop])


@lru_cache(maxsize=4096)
def _named(prefix: str, size: int) -> bytes:
    """Return the field of a task's name up to its id, which has that size."""
    start = prefix.encode()
    return b"\x0a%b%b" % (varint(len(start) + size), start)


def _nanos(number: int) -> bytes:
    """Return what `varint` does; nanoseconds seldom come twice, and most take five bytes."""
    if not number >> 28:
        return _written(number)
    low, high = number & 0x7F | 0x80, number >> 21 & 0x7F | 0x80
    return bytes((low, number >> 7 & 0x7F | 0x80, number >> 14 & 0x7F | 0x80, high, number >> 28))


@lru_cache(maxsize=64)
def _around_nanos(seconds: int, size: int, created: int) -> tuple[bytes, bytes]:
    """Return what a task's times are before and after so many bytes of nanoseconds."""
    stamp = messages.Timestamp(seconds=seconds).SerializeToString() + (b"\x10" if size else b"")
    task = messages.Task()
    task.create_time.seconds = created
    before = b"\x22%b%b" % (varint(len(stamp) + size), stamp)
    return before, task.SerializeToString() + _TEN_MINUTES
