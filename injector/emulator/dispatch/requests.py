"""A task's attempt as the HTTP request that its target gets."""

from dataclasses import dataclass

from injector.emulator.api import instants, messages
from injector.emulator.api.headers import APP_ENGINE_AGENT, HTTP_AGENT, is_replaced, is_reserved
from injector.emulator.dispatch.overrides import Headers, override_headers, override_url
from injector.emulator.dispatch.tokens import Issuer
from injector.emulator.state.task import Attempt, Task
from injector.emulator.transport.attempts import Attempt as Request

_METHODS = ("POST", "POST", "GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS")
_BODY_METHODS = frozenset({"POST", "PUT", "PATCH"})
_DEFAULT_DEADLINE_S = 600.0
_MOST_REDIRECTS = 5
_DEFAULT_SCOPE = "https://www.googleapis.com/auth/cloud-platform"


@dataclass(frozen=True, slots=True)
class Requests:
    """Turns attempts into requests: by the queue's overrides, with headers and tokens.

    `app_engine` is the base URL that stands for every app; empty if there is none.
    """

    issuer: Issuer
    app_engine: str = ""

    def build(self, attempt: Attempt, queue: messages.Queue, *, now: float) -> Request:
        """Return the request of an attempt of one of the queue's tasks."""
        task = messages.Task.FromString(attempt.task.form)
        if task.HasField("http_request"):
            return self._http(attempt, task, queue, now)
        return self._app_engine(attempt, task, queue)

    def _http(
        self, attempt: Attempt, task: messages.Task, queue: messages.Queue, now: float
    ) -> Request:
        asked, target = task.http_request, queue.http_target
        url = override_url(asked.url, target.uri_override) if _overrides_uri(queue) else asked.url
        method = _METHODS[target.http_method or asked.http_method]
        given = asked.headers
        kept = [(name, given[name]) for name in given if not is_replaced(name)]
        if target.header_overrides:
            kept = override_headers(kept, target)
        headers = [("User-Agent", HTTP_AGENT), *kept]
        headers = self._authorize(headers, asked, target, url, now)
        return Request(
            url=url,
            method=method,
            headers=(*headers, *_task_headers("X-CloudTasks-", attempt, queue)),
            body=asked.body if method in _BODY_METHODS else b"",
            deadline_s=instants.span_s(task.dispatch_deadline) or _DEFAULT_DEADLINE_S,
            redirects=_MOST_REDIRECTS,
        )

    def _app_engine(self, attempt: Attempt, task: messages.Task, queue: messages.Queue) -> Request:
        asked = task.app_engine_http_request
        headers = [(k, v) for k, v in asked.headers.items() if not is_reserved(k)]
        if not any(key.lower() == "user-agent" for key, _ in headers):
            headers.append(("User-Agent", APP_ENGINE_AGENT))
        return Request(
            url=self.app_engine + asked.relative_uri,
            method=_METHODS[asked.http_method],
            headers=(*headers, *_task_headers("X-AppEngine-", attempt, queue)),
            body=asked.body,
            deadline_s=instants.span_s(task.dispatch_deadline) or _DEFAULT_DEADLINE_S,
        )

    def _authorize(
        self,
        headers: Headers,
        asked: messages.HttpRequest,
        target: messages.HttpTarget,
        url: str,
        now: float,
    ) -> Headers:
        """Attach the queue's token, or else the task's, in place of any other authorization."""
        source = target if target.WhichOneof("authorization_header") else asked
        kind = source.WhichOneof("authorization_header")
        if kind is None:
            return headers
        if kind == "oidc_token":
            oidc = source.oidc_token
            token = self.issuer.oidc(oidc.service_account_email, oidc.audience or url, now=now)
        else:
            oauth = source.oauth_token
            token = self.issuer.oauth(oauth.service_account_email, oauth.scope or _DEFAULT_SCOPE)
        kept = [(k, v) for k, v in headers if k.lower() != "authorization"]
        return [*kept, ("Authorization", f"Bearer {token}")]


def _overrides_uri(queue: messages.Queue) -> bool:
    return queue.HasField("http_target") and queue.http_target.HasField("uri_override")


def _task_headers(prefix: str, attempt: Attempt, queue: messages.Queue) -> Headers:
    """Return the headers that tell of the task, as recorded from production."""
    task = attempt.task
    headers = [
        (prefix + "QueueName", queue.name.rpartition("/")[2]),
        (prefix + "TaskName", task.id),
        (prefix + "TaskRetryCount", str(attempt.number)),
        (prefix + "TaskExecutionCount", str(task.executions)),
        (prefix + "TaskETA", f"{attempt.schedule_at:.6f}"),
    ]
    if task.previous_status is not None:
        headers.append((prefix + "TaskPreviousResponse", str(task.previous_status)))
        headers.append((prefix + "TaskRetryReason", _reason(task)))
    return headers


def _reason(task: Task) -> str:
    """Return why App Engine's task is retried; HTTP targets are told nothing."""
    if not task.to_app_engine:
        return ""
    return "App Error" if task.previous_status else "Instance Unavailable"
