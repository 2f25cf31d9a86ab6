"""A task as callers write it, and as the service keeps it."""

from urllib.parse import quote

from injector.emulator.api import headers, instants, messages, paths, retry_form, routing
from injector.emulator.api.refusals import invalid, task_too_large
from injector.emulator.state.limits import RetryConfig

HORIZON_S = 720 * 3600.0
SMALL = 1024
"""A stored task below this many bytes can break no limit of size."""
MAX_URL = 2083
SCHEMES = ("http://", "https://")
_HTTP_DEFAULT_DEADLINE_S = 600
_SHORTEST_DEADLINE_S = 15.0
_LONGEST_HTTP_S = 30 * 60.0
_LONGEST_APP_ENGINE_S = 24 * 3600.0 + 15
_POST, _PUT, _PATCH = 1, 4, 6
_WITH_BODY = (_POST, _PUT, _PATCH)
_OUTPUT_ONLY = (
    "create_time",
    "dispatch_count",
    "response_count",
    "first_attempt",
    "last_attempt",
    "view",
)


def complete(task: messages.Task, queue: messages.Queue) -> bool:
    """Check a task's request, fill in the defaults, drop what is output only.

    Return whether it goes to App Engine, by the queue's routing if that is set.
    """
    clear = task.ClearField
    for field in _OUTPUT_ONLY:
        clear(field)
    kind = task.WhichOneof("message_type")
    if kind == "http_request":
        _complete_http(task)
        return False
    if kind is None:
        raise invalid("Task.message_type is required: httpRequest or appEngineHttpRequest.")
    _complete_app_engine(task, queue)
    return True


def retry_of(task: messages.Task) -> RetryConfig | None:
    """Return the task's own retry settings; None if the queue's hold."""
    return retry_form.complete(task.retry_config) if task.HasField("retry_config") else None


def schedule_time(task: messages.Task, *, now: float) -> float:
    """Return when the task is due: as asked, or now."""
    return due_at(task.schedule_time, now=now) if task.HasField("schedule_time") else now


def due_at(stamp: messages.Timestamp, *, now: float) -> float:
    """Return when a task asked for then is due: not in the past, nor beyond 30 days."""
    asked = instants.read(stamp, field="Task.scheduleTime")
    if asked - now > HORIZON_S:
        raise invalid(
            f"The Task.scheduleTime, {instants.in_pacific_time(asked)}, is too far in the "
            "future. Schedule time must be no more than 720h in the future."
        )
    return max(asked, now)


def check_size(form: bytes, task: messages.Task, *, limit: int) -> None:
    """Check the size of the stored form, defaults included, as production measures it."""
    size = len(form)
    if task.HasField("http_request"):
        headers.check_size(task.http_request.headers)
    else:
        size -= routing.split_size(task.app_engine_http_request.app_engine_routing)
    if size > limit:
        raise task_too_large()


def _complete_http(task: messages.Task) -> None:
    request = task.http_request
    _check_url(request.url)
    method = request.http_method = _method(request.http_method)
    if method not in _WITH_BODY and request.body:
        raise invalid("HttpRequest.body is allowed only if the method is POST, PUT or PATCH.")
    headers.keep_for_http(request.headers)
    _check_token(request)
    if task.HasField("dispatch_deadline"):
        _set_deadline(task, _LONGEST_HTTP_S, "[15s, 30m]")
    if not task.HasField("dispatch_deadline"):
        task.dispatch_deadline.seconds = _HTTP_DEFAULT_DEADLINE_S


def _complete_app_engine(task: messages.Task, queue: messages.Queue) -> None:
    request = task.app_engine_http_request
    request.http_method = _method(request.http_method)
    if request.body and request.http_method not in (_POST, _PUT):
        raise invalid("AppEngineHttpRequest.body is allowed only if the method is POST or PUT.")
    _check_uri(request.relative_uri)
    request.relative_uri = request.relative_uri or "/"
    if queue.HasField("app_engine_routing_override"):
        request.app_engine_routing.CopyFrom(queue.app_engine_routing_override)
    where = paths.location(paths.location_of_queue(queue.name))
    routing.fill_host(request.app_engine_routing, project=where.project, location=where.location)
    headers.keep_for_app_engine(request.headers, body=request.body)
    _set_deadline(task, _LONGEST_APP_ENGINE_S, "[15s, 24h15s]")


def _check_url(url: str) -> None:
    """Check a URL as little as production does: broken escapes pass."""
    if not url.startswith(SCHEMES):
        if not url:
            raise invalid("HttpRequest.url is required.")
        raise invalid("HttpTarget.url must start with 'http://' or 'https://'.")
    if len(url) > MAX_URL or not (url.isascii() or len(_encoded(url)) <= MAX_URL):
        raise invalid("HttpRequest.url must be at most 2083 characters after encoding.")


def _encoded(url: str) -> str:
    return quote(url, safe="%/:=&?~#+!$,;'@()*[]")


def _check_uri(uri: str) -> None:
    if uri and not uri.startswith("/"):
        raise invalid("AppEngineHttpRequest.relativeUri must begin with '/'.")
    if any(character.isspace() for character in uri):
        raise invalid("AppEngineHttpRequest.relativeUri must not contain spaces.")
    if len(uri) > MAX_URL:
        raise invalid("AppEngineHttpRequest.relativeUri must be at most 2083 characters.")


def _method(number: int) -> int:
    if not 0 <= number <= messages.LAST_HTTP_METHOD:
        raise invalid("Task.httpMethod is not a known method.")
    return number or _POST


def _check_token(request: messages.HttpRequest) -> None:
    kind = request.WhichOneof("authorization_header")
    if kind == "oidc_token" and not request.oidc_token.service_account_email:
        raise invalid("HttpRequest.oidcToken.serviceAccountEmail is required.")
    if kind == "oauth_token" and not request.oauth_token.service_account_email:
        raise invalid("HttpRequest.oauthToken.serviceAccountEmail is required.")


def _set_deadline(task: messages.Task, longest_s: float, bounds: str) -> None:
    if not task.HasField("dispatch_deadline"):
        return
    seconds = instants.span_s(task.dispatch_deadline)
    if not seconds:
        task.ClearField("dispatch_deadline")  # 0 asks for the default
        return
    nanos = task.dispatch_deadline.nanos
    if not (0 <= nanos < 1_000_000_000 and _SHORTEST_DEADLINE_S <= seconds <= longest_s):
        raise invalid(f"Task.dispatchDeadline must be between {bounds}.")
    task.dispatch_deadline.nanos = nanos - nanos % 1_000_000
