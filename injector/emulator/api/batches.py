"""Batches of tasks, and the operations that report them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from injector.emulator.api import instants, messages, paths, refusals, task_wire, tasks, views
from injector.emulator.api.operations import Pending
from injector.emulator.api.refusals import invalid, pack
from injector.emulator.api.service import Failure, Service
from injector.emulator.api.task_wire import varint
from injector.emulator.rpc import Code, RpcError
from injector.emulator.state.queue import Queue, QueueState

_MOST_CREATES = 100
_MOST_DELETES = 1000
_RUNNING, _SUCCEEDED = 1, 2
_CREATE_FAILED, _CANCELLED, _PARTIALLY_CREATED = 3, 4, 5
_PARTIALLY_DELETED, _DELETE_FAILED = 3, 4
_NONE_SUCCEEDED = (
    "None of the requests succeeded, refer to %s.failed_requests for individual error details"
)
_CREATED = "type.googleapis.com/google.cloud.tasks.v2.BatchCreateTasksResponse"

Failures = dict[int, RpcError]
_Create = task_wire.Ordinary | messages.CreateTaskRequest
"""One create of a batch: as the bytes of an ordinary task, or as the message it came in."""


def batch_create_ordinary_tasks(service: Service, request: bytes) -> bytes | None:
    """Put up to 100 ordinary tasks into one queue; None if there are others, or it is no batch."""
    batch = task_wire.read_batch(request)
    if batch is None:
        return None
    parent, request_id, tasks_read = batch
    creates: list[_Create] = [task for task in tasks_read if task is not None]
    if len(creates) < len(tasks_read) or not 0 < len(creates) <= _MOST_CREATES:
        return None
    return _create(service, parent, request_id, creates)


def batch_create_tasks(service: Service, request: messages.BatchCreateTasksRequest) -> bytes:
    """Put up to 100 tasks into one queue; each succeeds or fails by itself."""
    return _create(service, request.parent, request.request_id, _creates(request))


def _create(service: Service, parent: str, request_id: str, creates: Sequence[_Create]) -> bytes:
    queue = service.queue_for_tasks(parent)

    def work(operation: messages.Operation, most: int) -> Failures:
        failures: Failures = {}
        made = _created(service, queue, creates[:most], failures)
        if made:
            operation.response.type_url = _CREATED
            operation.response.value = b"".join(made)
        return failures

    batch = _Batch("BatchCreateTasks", messages.BatchCreateTasksMetadata(), work, len(creates))
    return _start(service, queue, request_id, batch)


def batch_delete_tasks(service: Service, request: messages.BatchDeleteTasksRequest) -> bytes:
    """Delete up to 1,000 tasks of one queue; each succeeds or fails by itself."""
    queue = service.queue(request.parent)
    _check_deletes(queue, request)

    def work(operation: messages.Operation, most: int) -> Failures:
        failures = _deleted(service, request.names[:most])
        if len(failures) < most:
            operation.response.CopyFrom(pack(messages.Empty()))
        return failures

    batch = _Batch(
        "BatchDeleteTasks", messages.BatchDeleteTasksMetadata(), work, len(request.names)
    )
    return _start(service, queue, request.request_id, batch)


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch on its way: its method, metadata, size, and what does the first n of its items."""

    method: str
    metadata: messages.BatchCreateTasksMetadata | messages.BatchDeleteTasksMetadata
    work: Callable[[messages.Operation, int], Failures]
    size: int


def _start(service: Service, queue: Queue, request_id: str, batch: _Batch) -> bytes:
    """Run a batch as an operation; the same request id finds the operation again."""
    key = f"{batch.method}/{queue.name}/{request_id}" if request_id else ""
    before = service.operations.started_by(key) if key else None
    if before is not None:
        return service.operations.form(before) or b""
    now = service.now()
    name = f"{paths.location_of_queue(queue.name)}/operations/{service.make_id(queue, now=now)}"
    instants.write(batch.metadata.start_time, now)
    failure = service.failing(batch.method, queue.name)
    if service.rules.operation_s > 0:
        return _postpone(service, (name, key), batch, failure)
    form = _finish(service, name, batch, failure)
    service.operations.add(name, key, form)
    return form


def _postpone(
    service: Service, ids: tuple[str, str], batch: _Batch, failure: Failure | None
) -> bytes:
    name, key = ids
    batch.metadata.state = _RUNNING
    running = messages.Operation(name=name, metadata=pack(batch.metadata)).SerializeToString()

    def finish(cancelled: bool) -> bytes:  # noqa: FBT001  # the one thing it is told
        return (
            _cancel(service, name, batch) if cancelled else _finish(service, name, batch, failure)
        )

    finish_at = service.now() + service.rules.operation_s
    service.operations.start(name, key, Pending(running, finish), finish_at=finish_at)
    service.wake()
    return running


def _finish(service: Service, name: str, batch: _Batch, failure: Failure | None) -> bytes:
    """Do the work, all of it unless the operation is to fail, and report it."""
    operation = messages.Operation(name=name, done=True)
    share = 1.0 if failure is None else failure.done
    failures = batch.work(operation, round(batch.size * share))
    for index, error in failures.items():
        batch.metadata.failed_requests[index].code = error.code
        batch.metadata.failed_requests[index].message = error.message
    deletes = batch.method == "BatchDeleteTasks"
    if failure is not None:
        _set_error(operation, failure.error.code, failure.error.message)
        batch.metadata.state = _DELETE_FAILED if deletes else _CREATE_FAILED
    elif failures:
        batch.metadata.state = _PARTIALLY_DELETED if deletes else _PARTIALLY_CREATED
    else:
        batch.metadata.state = _SUCCEEDED
    if len(failures) == batch.size:
        _set_error(operation, Code.ABORTED, _NONE_SUCCEEDED % batch.metadata.DESCRIPTOR.name)
    return _closed(service, operation, batch)


def _cancel(service: Service, name: str, batch: _Batch) -> bytes:
    operation = messages.Operation(name=name, done=True)
    _set_error(operation, Code.CANCELLED, "The operation was cancelled.")
    batch.metadata.state = _CANCELLED
    return _closed(service, operation, batch)


def _closed(service: Service, operation: messages.Operation, batch: _Batch) -> bytes:
    instants.write(batch.metadata.end_time, service.now())
    operation.metadata.CopyFrom(pack(batch.metadata))
    return operation.SerializeToString()


def _set_error(operation: messages.Operation, code: int, message: str) -> None:
    operation.error.code = code
    operation.error.message = message


def _creates(request: messages.BatchCreateTasksRequest) -> list[_Create]:
    """Return what a batch is to create; raises RpcError if it is none."""
    requests, parent = request.requests, request.parent
    if not requests:
        raise invalid("BatchCreateTasksRequest.requests must not be empty.")
    if len(requests) > _MOST_CREATES:
        raise invalid("BatchCreateTasksRequest.requests can hold at most 100 requests.")
    for create in requests:
        if create.parent not in ("", parent):
            raise invalid("Every request's parent must be the parent of the batch.")
    batch = task_wire.read_batch(request.SerializeToString())
    ordinary = batch[2] if batch is not None else [None] * len(requests)
    return [one or requests[index] for index, one in enumerate(ordinary)]


def _check_deletes(queue: Queue, request: messages.BatchDeleteTasksRequest) -> None:
    if not request.names:
        raise invalid("BatchDeleteTasksRequest.names must not be empty.")
    if len(request.names) > _MOST_DELETES:
        raise invalid("BatchDeleteTasksRequest.names can hold at most 1000 names.")
    for name in request.names:
        if not name.startswith(queue.prefix):
            raise refusals.other_queue(queue.name, paths.split_task(name)[0])


def _created(
    service: Service, queue: Queue, creates: Sequence[_Create], failures: Failures
) -> list[bytes]:
    """Store the tasks; return the parts of the response that holds those that could be."""
    now = service.now()
    times = task_wire.times(now, created=now)
    made: list[bytes] = []
    for index, create in enumerate(creates):
        try:
            if queue.state is QueueState.DISABLED:  # deleted since the batch was started
                raise refusals.queue_missing()
            if isinstance(create, tuple):
                _, answer = tasks.put_ordinary(service, queue, create, now=now, times=times)
            else:
                view = views.check(create.response_view)
                answer = tasks.put(service, queue, create.task, view, now=now)
        except RpcError as error:
            failures[index] = error
        else:
            made += (b"\x0a", varint(len(answer)), answer)
    return made


def _deleted(service: Service, names: Sequence[str]) -> Failures:
    failures: Failures = {}
    for index, name in enumerate(names):
        try:
            tasks.delete_task(service, messages.DeleteTaskRequest(name=name))
        except RpcError as error:
            failures[index] = error
    return failures
