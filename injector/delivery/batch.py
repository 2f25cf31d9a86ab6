"""BatchCreateTasks: many creates of one queue in one call, and the operation that it starts."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from uuid import uuid4

from google.cloud.tasks_v2 import types
from google.longrunning.operations_pb2 import GetOperationRequest, Operation

from injector.delivery.call import Call
from injector.delivery.channel import CallFailed
from injector.delivery.cloud_tasks import Requests, routing
from injector.delivery.line import Line
from injector.delivery.ports import Result
from injector.delivery.verdict import CREATED, OVERLOAD_FAULTS, judge
from injector.errors import InjectorError
from injector.http2.answers import code_of
from injector.pacing.backoff import full_jitter
from injector.wire import batch_create_tasks_request

BATCH_CREATE = "/google.cloud.tasks.v2.CloudTasks/BatchCreateTasks"
GET_OPERATION = "/google.longrunning.Operations/GetOperation"
MOST_CREATES = 100
FIRST_POLL_S = 0.1
LONGEST_POLL_S = 2.0
IDS_KEPT = 1000

REFUSALS = frozenset({"UNIMPLEMENTED", "PERMISSION_DENIED", "INVALID_ARGUMENT"})

_State = types.BatchCreateTasksMetadata.State
_RAN_TO_THE_END = (_State.SUCCEEDED, _State.PARTIALLY_SUCCEEDED)
_Metadata = types.BatchCreateTasksMetadata.pb()


class BatchRefused(InjectorError):
    """The service will not have these creates as a batch; each alone may be another matter."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class BatchTasks:
    """Sends the creates of a call together and awaits their operation.

    A repeated request id gets the operation that it got before, whatever became of it. So the
    same creates keep their id until its answer has been seen, which finds a lost answer again,
    and an operation that outlasted a budget; and they get a new id after that, since a failure
    must not be replayed for ever. Past the life of this process, the tasks' names keep a repeat
    harmless.
    """

    def __init__(self, line: Line, *, timeout_s: float, draw: Callable[[], float]) -> None:
        self._line = line
        self._timeout_s = timeout_s
        self._draw = draw
        self._requests = Requests()
        self._ids = _RequestIds()
        self._now = asyncio.get_running_loop().time

    async def send(self, call: Call) -> Sequence[Result]:
        """Create the tasks; raises BatchRefused if the service will not have them together."""
        identity = (call.queue, *[create.task_id for create in call.creates])
        try:
            operation = await self._begin(call, self._ids.of(identity))
            operation = await self._finished(operation, call)
        except CallFailed as error:
            if error.code in REFUSALS:
                self._ids.answered(identity)
                raise BatchRefused(error.code, str(error)) from error
            return [judge(error.code, str(error), call.queue)] * len(call.creates)
        except UnicodeEncodeError as error:
            raise BatchRefused("INVALID_ARGUMENT", f"not UTF-8: {error}") from error
        self._ids.answered(identity)
        return ends(operation, call)

    async def _begin(self, call: Call, request_id: str) -> Operation:
        requests = [self._requests.of(create) for create in call.creates]
        answer = await self._line.call(
            BATCH_CREATE,
            batch_create_tasks_request(call.queue, requests, request_id),
            about=routing("parent", call.queue),
            deadline=call.deadline,
            most_s=self._timeout_s,
        )
        return Operation.FromString(answer)

    async def _finished(self, operation: Operation, call: Call) -> Operation:
        """Ask for the operation, ever less often, until it is done or the time is over."""
        polls = 0
        while not operation.done:
            polls += 1
            wait = full_jitter(
                polls, first_s=FIRST_POLL_S, most_s=LONGEST_POLL_S, draw=self._draw()
            )
            if wait >= call.deadline - self._now():
                raise CallFailed("DEADLINE_EXCEEDED", f"{operation.name} is still running")
            await asyncio.sleep(wait)
            operation = await self._poll(operation, call)
        return operation

    async def _poll(self, operation: Operation, call: Call) -> Operation:
        try:
            answer = await self._line.call(
                GET_OPERATION,
                GetOperationRequest(name=operation.name).SerializeToString(),
                about=routing("name", operation.name),
                deadline=call.deadline,
                most_s=self._timeout_s,
            )
        except CallFailed as error:
            if error.code in OVERLOAD_FAULTS:
                return operation
            if error.code == "NOT_FOUND":
                raise CallFailed("UNKNOWN", f"{operation.name} was forgotten") from error
            raise
        return Operation.FromString(answer)


def ends(operation: Operation, call: Call) -> list[Result]:
    """Read a finished operation: which creates failed, and how; the others' tasks exist.

    Those that an operation does not name exist only if it ran to its end.
    """
    metadata = _Metadata.FromString(operation.metadata.value)
    results = [_unnamed(operation, metadata.state, call.queue)] * len(call.creates)
    for number, status in metadata.failed_requests.items():
        code = code_of(status.code)
        results[number] = judge(code, status.message, call.queue)
    return results


def _unnamed(operation: Operation, state: int, queue: str) -> Result:
    if operation.HasField("response") or state in _RAN_TO_THE_END:
        return CREATED
    code = code_of(operation.error.code)
    return judge(code if code != "OK" else "UNKNOWN", operation.error.message, queue)


class _RequestIds:
    """The ids of calls whose answer has not been seen."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, ...], str] = OrderedDict()

    def of(self, creates: tuple[str, ...]) -> str:
        """Return the id to send these creates with now."""
        if len(self._open) >= IDS_KEPT:
            self._open.popitem(last=False)
        return self._open.setdefault(creates, uuid4().hex)

    def answered(self, creates: tuple[str, ...]) -> None:
        """Hear that the answer has been seen."""
        self._open.pop(creates, None)
