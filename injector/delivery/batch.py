"""BatchCreateTasks: many creates of one queue in one call, and the operation that it starts."""

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable, Sequence
from hashlib import blake2b

import grpc
from google.cloud.tasks_v2 import types
from google.longrunning.operations_pb2 import GetOperationRequest, Operation

from injector.delivery.call import Call
from injector.delivery.cloud_tasks import Requests, routing
from injector.delivery.connection import CallFailed, Line
from injector.delivery.ports import Outcome, Result
from injector.delivery.verdict import CREATED, OVERLOAD_FAULTS, judge
from injector.pacing.backoff import full_jitter
from injector.wire import batch_create_tasks_request

BATCH_CREATE = "/google.cloud.tasks.v2.CloudTasks/BatchCreateTasks"
GET_OPERATION = "/google.longrunning.Operations/GetOperation"
MOST_CREATES = 100
FIRST_POLL_S = 0.1
LONGEST_POLL_S = 2.0
IDENTITIES_KEPT = 10_000

_CODES = {code.value[0]: code.name for code in grpc.StatusCode}
_State = types.BatchCreateTasksMetadata.State
_RAN_TO_THE_END = (_State.SUCCEEDED, _State.PARTIALLY_SUCCEEDED)
_Metadata = types.BatchCreateTasksMetadata.pb()


class BatchTasks:
    """Sends the creates of a call together and awaits their operation.

    A repeated request id gets the operation that it got before, failures included. So the id
    stays the same until its answer has been seen (a lost answer is found again, and so is an
    operation that outlasted a budget), and changes once some creates of it have failed. Past
    the life of this process, the tasks' names keep a repeat harmless.
    """

    def __init__(self, line: Line, *, timeout_s: float, draw: Callable[[], float]) -> None:
        self._line = line
        self._timeout_s = timeout_s
        self._draw = draw
        self._requests = Requests()
        self._rounds = _Rounds()
        self._now = asyncio.get_running_loop().time

    async def send(self, call: Call) -> Sequence[Result]:
        """Create the tasks."""
        identity = self._rounds.identity(call)
        try:
            operation = await self._begin(call, self._rounds.request_id(identity))
            operation = await self._finished(operation, call)
        except CallFailed as error:
            return [judge(error.code, str(error), call.queue)] * len(call.creates)
        results = ends(operation, call)
        settled = all(result.outcome is not Outcome.NOT_TAKEN for result in results)
        self._rounds.answered(identity, settled=settled)
        return results

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
        code = _CODES.get(status.code, "UNKNOWN")
        results[number] = judge(code, status.message, call.queue)
    return results


def _unnamed(operation: Operation, state: int, queue: str) -> Result:
    if operation.HasField("response") or state in _RAN_TO_THE_END:
        return CREATED
    code = _CODES.get(operation.error.code, "UNKNOWN")
    return judge(code if code != "OK" else "UNKNOWN", operation.error.message, queue)


class _Rounds:
    """How often the answer to the same creates has left some of them open."""

    def __init__(self) -> None:
        self._salt = secrets.token_bytes(16)
        self._rounds: OrderedDict[bytes, int] = OrderedDict()

    def identity(self, call: Call) -> bytes:
        """Return what the same creates have in common, in this process."""
        names = "/".join([create.task_id for create in call.creates])
        return blake2b(f"{call.queue}/{names}".encode(), key=self._salt, digest_size=16).digest()

    def request_id(self, identity: bytes) -> str:
        """Return the id to send them with now."""
        return f"{identity.hex()}-{self._rounds.get(identity, 0)}"

    def answered(self, identity: bytes, *, settled: bool) -> None:
        """Forget creates that are settled; give others a new id."""
        rounds = self._rounds.pop(identity, 0)
        if not settled:
            self._rounds[identity] = rounds + 1
        if len(self._rounds) > IDENTITIES_KEPT:
            self._rounds.popitem(last=False)
