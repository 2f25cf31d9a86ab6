"""Tasks as callers see them: with their counts and times, with or without their bodies."""

from injector.emulator.api import instants, messages
from injector.emulator.api.refusals import invalid
from injector.emulator.rpc import Code
from injector.emulator.state.task import LastAttempt, Outcome, Task

_RPC_CODES = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.NOT_FOUND,
    409: Code.ABORTED,
    416: Code.OUT_OF_RANGE,
    429: Code.RESOURCE_EXHAUSTED,
    499: Code.CANCELLED,
    501: Code.UNIMPLEMENTED,
    503: Code.UNAVAILABLE,
    504: Code.DEADLINE_EXCEEDED,
}


def check(view: int) -> int:
    """Return the view that is meant; BASIC is the default."""
    if view not in (0, messages.BASIC, messages.FULL):
        raise invalid("response_view is not a known view.")
    return view or messages.BASIC


def render(task: Task, view: int) -> messages.Task:
    """Return a stored task in the view that was asked for."""
    message = messages.Task.FromString(task.form)
    instants.write(message.schedule_time, task.schedule_at)
    if view != messages.FULL:
        drop_body(message)
    message.view = view
    if task.dispatch_count:
        _write_attempts(task, message)
    return message


def drop_body(message: messages.Task) -> None:
    """Take the body away, which BASIC omits for both kinds of targets."""
    if message.HasField("http_request"):
        message.http_request.ClearField("body")
    else:
        message.app_engine_http_request.ClearField("body")


def rpc_code(attempt: LastAttempt | Outcome) -> Code:
    """Return the RPC code that an attempt's end is reported as.

    Production calls a target that cannot be reached UNKNOWN, with HTTP status 0.
    """
    if attempt.status is None:
        return Code.DEADLINE_EXCEEDED if attempt.timed_out else Code.UNKNOWN
    if 200 <= attempt.status < 300:
        return Code.OK
    fallback = {4: Code.FAILED_PRECONDITION, 5: Code.INTERNAL}
    return _RPC_CODES.get(attempt.status, fallback.get(attempt.status // 100, Code.UNKNOWN))


def _write_attempts(task: Task, message: messages.Task) -> None:
    message.dispatch_count = task.dispatch_count
    message.response_count = task.response_count
    instants.write(message.first_attempt.dispatch_time, task.first_dispatch_at)
    last = task.last
    if last is None:
        return
    instants.write(message.last_attempt.schedule_time, last.schedule_at)
    instants.write(message.last_attempt.dispatch_time, last.dispatch_at)
    if last.responded_at is not None:
        instants.write(message.last_attempt.response_time, last.responded_at)
        code = rpc_code(last)
        status = message.last_attempt.response_status
        status.code = code
        status.message = f"{code.name}({code.value}): HTTP status code {last.status or 0}"
