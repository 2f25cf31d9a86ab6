"""The log of task operations, in the shape of production's TaskActivityLog."""

from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime

from injector.emulator.api import messages
from injector.emulator.api.views import rpc_code
from injector.emulator.rpc import Code
from injector.emulator.state.queue import Queue
from injector.emulator.state.registry import Witness
from injector.emulator.state.task import Attempt, Outcome, Task

_MOST_ENTRIES = 20_000
_KIND = "type.googleapis.com/google.cloud.tasks.logging.v1.TaskActivityLog"
_METHODS = ("POST", "POST", "GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS")
Fields = dict[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry: `payload` is what jsonPayload holds, `number` counts from the start."""

    number: int
    at: float
    queue: str
    target_type: str
    is_error: bool
    payload: dict[str, str | Fields]


class OperationsLog(Witness):
    """The latest entries of queues that log, as sampled by their sampling ratio.

    Whole tasks are sampled, not entries, so that a task's story is told in full or not at all.
    """

    def __init__(self, configs: dict[str, messages.Queue]) -> None:
        self._configs = configs
        self._ratios: dict[str, float] = {}
        self._made = 0
        self.entries: deque[Entry] = deque(maxlen=_MOST_ENTRIES)

    def queue_changed(self, queue: Queue) -> None:
        """Take note of a queue's sampling ratio, if it has one."""
        config = self._configs.get(queue.name)
        ratio = config.stackdriver_logging_config.sampling_ratio if config is not None else 0.0
        self._ratios.pop(queue.name, None)
        if ratio > 0:
            self._ratios[queue.name] = ratio

    def queue_deleted(self, queue: Queue, *, reserved_until: float) -> None:
        """Forget a queue."""
        del reserved_until
        self._ratios.pop(queue.name, None)

    def task_added(self, queue: Queue, task: Task) -> None:
        """Log a creation."""
        if self._ratios and self._is_sampled(queue, task):
            fields = {**_target(task), "scheduleTime": _stamp(task.schedule_at), "status": "OK"}
            self._log(queue, task, "taskCreationLog", fields, task.created_at)

    def attempt_started(self, queue: Queue, attempt: Attempt) -> None:
        """Log a dispatch."""
        task = attempt.task
        if self._ratios and self._is_sampled(queue, task):
            fields = {
                **_target(task),
                "dispatchCount": str(task.dispatch_count),
                "maxAttempts": str(_most_attempts(queue, task)),
                "responseCount": str(task.response_count),
                "scheduleTime": _stamp(attempt.schedule_at),
                "status": "OK",
            }
            self._log(queue, task, "attemptDispatchLog", fields, attempt.dispatch_at)

    def attempt_ended(
        self, queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float
    ) -> None:
        """Log an answer, or that there was none."""
        task = attempt.task
        if not (self._ratios and self._is_sampled(queue, task)):
            return
        fields = {
            **_target(task),
            "attemptDuration": f"{max(0.0, now - attempt.dispatch_at):.6f}s",
            "dispatchCount": str(task.dispatch_count),
            "maxAttempts": str(_most_attempts(queue, task)),
            "responseCount": str(task.response_count),
            "responseCode": str(outcome.status or 0),
            "scheduleTime": _stamp(attempt.schedule_at),
            "status": rpc_code(outcome).name,
        }
        if not outcome.is_success:
            fields["retryTime"] = _stamp(task.schedule_at)
        self._log(queue, task, "attemptResponseLog", fields, now)

    def _log(self, queue: Queue, task: Task, kind: str, fields: Fields, at: float) -> None:
        self._made += 1
        payload: dict[str, str | Fields] = {
            "@type": _KIND,
            "task": queue.prefix + task.id,
            kind: fields,
        }
        is_error = fields["status"] != Code.OK.name
        kind_of_target = fields["targetType"]
        self.entries.append(Entry(self._made, at, queue.name, kind_of_target, is_error, payload))

    def _is_sampled(self, queue: Queue, task: Task) -> bool:
        ratio = self._ratios.get(queue.name, 0.0)
        return ratio > 0 and (task.seq * 0.6180339887498949) % 1.0 < ratio


def _target(task: Task) -> Fields:
    form = messages.Task.FromString(task.form)
    if task.to_app_engine:
        asked = form.app_engine_http_request
        address = asked.app_engine_routing.host + asked.relative_uri
        method, kind = asked.http_method, "APP_ENGINE_HTTP"
    else:
        address, method = form.http_request.url, form.http_request.http_method
        kind = "HTTP"
    return {"targetAddress": f"{_METHODS[method]} {address}", "targetType": kind}


def _most_attempts(queue: Queue, task: Task) -> int:
    """Return the most attempts, 0 for no limit, as production logs it."""
    return max(0, (task.retry or queue.limits.retry).max_attempts)


def _stamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
