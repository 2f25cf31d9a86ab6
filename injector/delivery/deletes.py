"""Deleting waiting tasks again: BatchDeleteTasks, or one by one where there is no such call."""

import asyncio
from collections.abc import Mapping, Sequence
from uuid import NAMESPACE_URL, uuid4, uuid5

from google.cloud.tasks_v2 import types
from google.longrunning.operations_pb2 import GetOperationRequest, Operation

from injector.delivery.batch import GET_OPERATION
from injector.delivery.channel import CallFailed
from injector.delivery.cloud_tasks import routing
from injector.delivery.line import Line
from injector.delivery.ports import Deleted
from injector.http2.answers import code_of

BATCH_DELETE = "/google.cloud.tasks.v2.CloudTasks/BatchDeleteTasks"
DELETE = "/google.cloud.tasks.v2.CloudTasks/DeleteTask"
MOST_NAMES = 1000
AT_ONCE = 50
CALL_S = 20.0
POLL_S = 0.2

_GONE = frozenset({"NOT_FOUND", "FAILED_PRECONDITION"})
_NO_BATCHES = frozenset({"UNIMPLEMENTED", "PERMISSION_DENIED"})
_REMEDY = " (grant roles/cloudtasks.taskDeleter on the queue)"
_State = types.BatchDeleteTasksMetadata.State
_RAN_TO_THE_END = (_State.SUCCEEDED, _State.PARTIALLY_SUCCEEDED)
_Metadata = types.BatchDeleteTasksMetadata.pb()
_Request = types.BatchDeleteTasksRequest.pb()


async def delete_all(
    line: Line, names: Mapping[str, Sequence[str]], *, mark: str, budget_s: float
) -> Deleted:
    """Delete tasks, by queue; the same names under the same mark find their operations again.

    So what was deleted before a process died is still told from what had been gone.
    """
    deadline = asyncio.get_running_loop().time() + budget_s
    turns = asyncio.Semaphore(AT_ONCE)
    batches = [
        (queue, tuple(tasks[start : start + MOST_NAMES]))
        for queue, tasks in names.items()
        for start in range(0, len(tasks), MOST_NAMES)
    ]
    ends = await asyncio.gather(
        *(_delete(line, *batch, mark=mark, turns=turns, deadline=deadline) for batch in batches)
    )
    return sum(ends, Deleted())


async def _delete(  # noqa: PLR0913
    line: Line,
    queue: str,
    names: tuple[str, ...],
    *,
    mark: str,
    turns: asyncio.Semaphore,
    deadline: float,
) -> Deleted:
    try:
        async with turns:
            return await _batch(line, queue, names, mark=mark, deadline=deadline)
    except CallFailed as error:
        if error.code not in _NO_BATCHES:
            return _all_ended(names, error)
    ends = (_single(line, name, turns=turns, deadline=deadline) for name in names)
    return sum(await asyncio.gather(*ends), Deleted())


async def _batch(
    line: Line, queue: str, names: tuple[str, ...], *, mark: str, deadline: float
) -> Deleted:
    request_id = str(uuid5(NAMESPACE_URL, f"{mark}/{queue}/{names[0]}") if mark else uuid4())
    request = _Request(parent=queue, names=names, request_id=request_id)
    about = routing("parent", queue)
    answer = await line.call(
        BATCH_DELETE, request.SerializeToString(), about=about, deadline=deadline, most_s=CALL_S
    )
    operation = Operation.FromString(answer)
    while not operation.done:
        await asyncio.sleep(POLL_S)
        operation = await _poll(line, operation, deadline=deadline)
    return _read(operation, names)


async def _poll(line: Line, operation: Operation, *, deadline: float) -> Operation:
    answer = await line.call(
        GET_OPERATION,
        GetOperationRequest(name=operation.name).SerializeToString(),
        about=routing("name", operation.name),
        deadline=deadline,
        most_s=CALL_S,
    )
    return Operation.FromString(answer)


def _read(operation: Operation, names: tuple[str, ...]) -> Deleted:
    """Tell what a finished operation did; those that it does not name, if it ran to its end."""
    metadata = _Metadata.FromString(operation.metadata.value)
    failed = {
        index: (code_of(status.code), status.message)
        for index, status in metadata.failed_requests.items()
    }
    ran = operation.HasField("response") or metadata.state in _RAN_TO_THE_END
    if not (ran or len(failed) == len(names)):
        return Deleted(left=names, reason=operation.error.message)
    gone = sum(code in _GONE for code, _ in failed.values())
    left = tuple(names[index] for index, (code, _) in failed.items() if code not in _GONE)
    why = next((message for code, message in failed.values() if code not in _GONE), "")
    return Deleted(len(names) - gone - len(left), gone, left, why)


async def _single(line: Line, name: str, *, turns: asyncio.Semaphore, deadline: float) -> Deleted:
    request = types.DeleteTaskRequest.pb()(name=name).SerializeToString()
    try:
        async with turns:
            about = routing("name", name)
            await line.call(DELETE, request, about=about, deadline=deadline, most_s=CALL_S)
    except CallFailed as error:
        return _all_ended((name,), error)
    return Deleted(1)


def _all_ended(names: tuple[str, ...], error: CallFailed) -> Deleted:
    """Read a failed call: a queue or a task that is not there leaves nothing to delete."""
    if error.code in _GONE:
        return Deleted(gone=len(names))
    remedy = _REMEDY if error.code == "PERMISSION_DENIED" else ""
    return Deleted(left=names, reason=f"{error.code}: {error}{remedy}")
