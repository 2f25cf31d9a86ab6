"""The create request as protobuf bytes, written by hand because the client's objects are slow.

Field numbers are those of google.cloud.tasks.v2, and a property test holds them to the real
messages.
"""

from collections.abc import Iterable

from injector.delivery.ports import Create, TaskTemplate, Token
from injector.protobuf import field as _field
from injector.protobuf import length as _length
from injector.protobuf import sized as _sized
from injector.protobuf import text as _text
from injector.protobuf import varint as _varint

METHODS = {"POST": 1, "GET": 2, "HEAD": 3, "PUT": 4, "DELETE": 5, "PATCH": 6, "OPTIONS": 7}
MAX_TASK_SIZE = 1_048_569
DEFAULT_DISPATCH_DEADLINE_S = 600.0

_USER_AGENT = ("User-Agent", "Google-Cloud-Tasks")
_LONGEST_MOMENT = 14  # of the years 1970 to 2106, to the nanosecond


def create_task_request(create: Create) -> bytes:
    """Serialize the google.cloud.tasks.v2.CreateTaskRequest of a create."""
    return RequestTemplate(create.queue, create.template).fill(create)


class RequestTemplate:
    """The create requests of one job and queue: what they share is serialized once."""

    def __init__(self, queue: str, template: TaskTemplate) -> None:
        self._parent = _text(0x0A, queue) + b"\x12"
        self._name = f"{queue}/tasks/".encode()
        self._shared = b"\x10" + bytes((METHODS[template.method],)) + _headers(template.headers)
        self._token = _token(template.token)
        self._deadline = _moment(0x32, template.dispatch_deadline_s)
        self._request_size = 1 + len(self._shared) + len(self._token)
        self._task_size = 2 + len(self._deadline)

    def fill(self, create: Create) -> bytes:
        """Serialize one create: every length first, then all parts at once."""
        task_id, url, body = create.task_id.encode(), create.url.encode(), create.body
        of_url = _length(len(url))
        varying = _headers(create.headers) if create.headers else b""
        content = b"\x22" + _length(len(body)) if body else b""
        size = self._request_size + len(of_url) + len(url) + len(varying) + len(content) + len(body)
        asked = _length(size)
        name_size = len(self._name) + len(task_id)
        named = _length(name_size)
        when = b"" if create.schedule_time is None else _moment(0x22, create.schedule_time)
        size += self._task_size + len(named) + name_size + len(asked) + len(when)
        return b"".join((
            self._parent, _length(size),
            b"\x0a", named, self._name, task_id,
            b"\x1a", asked, b"\x0a", of_url, url, self._shared, varying, content, body, self._token,
            when, self._deadline,
        ))  # fmt: skip


def batch_create_tasks_request(queue: str, requests: Iterable[bytes], request_id: str) -> bytes:
    """Serialize the google.cloud.tasks.v2.BatchCreateTasksRequest of serialized creates."""
    parts = [_text(0x0A, queue)]
    for request in requests:
        parts += (b"\x12", _length(len(request)), request)
    parts.append(_text(0x1A, request_id))
    return b"".join(parts)


def task_size(create: Create) -> int:
    """Count the bytes of the task as the service stores it, which is what its limit is about.

    The service adds the defaults: user agent, audience, schedule and create time, deadline.
    Times that are not known yet count as their longest form.
    """
    template = create.template
    headers = _with_user_agent((*template.headers, *create.headers))
    request = _http_request_size(create, headers, template)
    schedule = create.schedule_time
    deadline = template.dispatch_deadline_s or DEFAULT_DISPATCH_DEADLINE_S
    return (
        _sized(len(task_name(create).encode()))
        + _sized(request)
        + (_LONGEST_MOMENT if schedule is None else len(_moment(0x22, schedule)))
        + _LONGEST_MOMENT  # the create time
        + len(_moment(0x32, deadline))
        + 2  # the view
    )


def task_name(create: Create) -> str:
    """Return the task's full resource name."""
    return f"{create.queue}/tasks/{create.task_id}"


def _with_user_agent(headers: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    if any(name.lower() == "user-agent" for name, _ in headers):
        return headers
    return (*headers, _USER_AGENT)


def _headers(headers: Iterable[tuple[str, str]]) -> bytes:
    return b"".join(_field(0x1A, _text(0x0A, name) + _text(0x12, value)) for name, value in headers)


def _http_request_size(
    create: Create, headers: Iterable[tuple[str, str]], template: TaskTemplate
) -> int:
    """Count the bytes of the task's request, without copying the body."""
    size = _sized(len(create.url.encode())) + 2
    for name, value in headers:
        size += _sized(_sized(len(name.encode())) + _sized(len(value.encode())))
    if create.body:
        size += _sized(len(create.body))
    token = template.token
    if token and token.kind == "oidc" and not token.scope:
        token = Token(token.kind, token.service_account, create.url)
    return size + len(_token(token))


def _token(token: Token | None) -> bytes:
    if token is None:
        return b""
    inner = _text(0x0A, token.service_account)
    if token.scope:
        inner += _text(0x12, token.scope)
    return _field(0x2A if token.kind == "oauth" else 0x32, inner)


def _moment(tag: int, seconds: float | None) -> bytes:
    """Write a Timestamp or a Duration, to the microsecond; nothing for None."""
    if seconds is None:
        return b""
    whole, micros = divmod(round(seconds * 1_000_000), 1_000_000)
    inner = b"\x08" + _varint(whole) if whole else b""
    if micros:
        inner += b"\x10" + _varint(micros * 1000)
    return _field(tag, inner)
