"""Batches of tasks, and the operations that report them."""

from collections.abc import Callable, Iterator

from injector.emulator.api import instants, messages, paths, refusals, tasks, views
from injector.emulator.api.operations import Pending
from injector.emulator.api.refusals import invalid, pack
from injector.emulator.api.service import Service
from injector.emulator.rpc import Code, RpcError
from injector.emulator.state.queue import Queue

_MOST_CREATES = 100
_MOST_DELETES = 1000
_RUNNING, _SUCCEEDED, _CANCELLED, _PARTIALLY = 1, 2, 4, 5
_PARTIALLY_DELETED = 3
_CREATED = "type.googleapis.com/google.cloud.tasks.v2.BatchCreateTasksResponse"

Failures = dict[int, RpcError]


def batch_create_tasks(
    service: Service, request: messages.BatchCreateTasksRequest
) -> bytes | messages.Operation:
    """Put up to 100 tasks into one queue; each succeeds or fails by itself."""
    _check_creates(request)
    queue = service.queue_for_tasks(request.parent)

    def work(operation: messages.Operation) -> Failures:
        failures: Failures = {}
        made = list(_created(service, queue, request, failures))
        if made:
            operation.response.type_url = _CREATED
            operation.response.value = b"".join(made)
        return failures

    metadata = messages.BatchCreateTasksMetadata()
    return _start(service, queue, request.request_id, metadata, work)


def batch_delete_tasks(
    service: Service, request: messages.BatchDeleteTasksRequest
) -> bytes | messages.Operation:
    """Delete up to 1,000 tasks of one queue; each succeeds or fails by itself."""
    queue = service.queue(request.parent)
    if not request.names:
        raise invalid("BatchDeleteTasksRequest.names must not be empty.")
    if len(request.names) > _MOST_DELETES:
        raise invalid("BatchDeleteTasksRequest.names can hold at most 1000 names.")
    for name in request.names:
        if not name.startswith(queue.prefix):
            raise refusals.other_queue(queue.name, paths.split_task(name)[0])

    def work(operation: messages.Operation) -> Failures:
        failures = _deleted(service, request)
        if len(failures) < len(request.names):
            operation.response.CopyFrom(pack(messages.Empty()))
        return failures

    metadata = messages.BatchDeleteTasksMetadata()
    return _start(service, queue, request.request_id, metadata, work)


Metadata = messages.BatchCreateTasksMetadata | messages.BatchDeleteTasksMetadata
Work = Callable[[messages.Operation], Failures]


def _start(
    service: Service, queue: Queue, request_id: str, metadata: Metadata, work: Work
) -> bytes | messages.Operation:
    """Run a batch as an operation; the same request id finds the operation again."""
    kind = metadata.DESCRIPTOR.name
    key = f"{kind}/{queue.name}/{request_id}" if request_id else ""
    before = service.operations.started_by(key) if key else None
    if before is not None:
        return service.operations.form(before) or b""
    name = f"{paths.location_of_queue(queue.name)}/operations/{service.make_id(queue)}"
    instants.write(metadata.start_time, service.now())
    if service.rules.operation_s <= 0:
        form = _finish(service, name, metadata, work)
        service.operations.add(name, key, form)
        return form
    return _postpone(service, (name, key), metadata, work)


def _postpone(service: Service, ids: tuple[str, str], metadata: Metadata, work: Work) -> bytes:
    name, key = ids
    metadata.state = _RUNNING
    running = messages.Operation(name=name, metadata=pack(metadata)).SerializeToString()

    def finish(cancelled: bool) -> bytes:  # noqa: FBT001  # the one thing it is told
        return _finish(service, name, metadata, _cancelled if cancelled else work)

    finish_at = service.now() + service.rules.operation_s
    service.operations.start(name, key, Pending(running, finish), finish_at=finish_at)
    service.wake()
    return running


def _finish(service: Service, name: str, metadata: Metadata, work: Work) -> bytes:
    operation = messages.Operation(name=name, done=True)
    failures = work(operation)
    instants.write(metadata.end_time, service.now())
    for index, error in failures.items():
        metadata.failed_requests[index].code = error.code
        metadata.failed_requests[index].message = error.message
    if work is _cancelled:
        metadata.state = _CANCELLED
    elif not failures:
        metadata.state = _SUCCEEDED
    else:
        deletes = isinstance(metadata, messages.BatchDeleteTasksMetadata)
        metadata.state = _PARTIALLY_DELETED if deletes else _PARTIALLY
    if failures and not operation.HasField("response"):
        _fail(operation, metadata)
    operation.metadata.CopyFrom(pack(metadata))
    return operation.SerializeToString()


def _fail(operation: messages.Operation, metadata: Metadata) -> None:
    """Say that nothing succeeded, in the documented words."""
    operation.error.code = Code.ABORTED
    operation.error.message = (
        f"None of the requests succeeded, refer to {metadata.DESCRIPTOR.name}.failed_requests "
        "for individual error details"
    )


def _cancelled(operation: messages.Operation) -> Failures:
    operation.error.code = Code.CANCELLED
    operation.error.message = "The operation was cancelled."
    return {}


def _check_creates(request: messages.BatchCreateTasksRequest) -> None:
    if not request.requests:
        raise invalid("BatchCreateTasksRequest.requests must not be empty.")
    if len(request.requests) > _MOST_CREATES:
        raise invalid("BatchCreateTasksRequest.requests can hold at most 100 requests.")
    for create in request.requests:
        if create.parent not in ("", request.parent):
            raise invalid("Every request's parent must be the parent of the batch.")


def _created(
    service: Service,
    queue: Queue,
    request: messages.BatchCreateTasksRequest,
    failures: Failures,
) -> Iterator[bytes]:
    """Yield each stored task as a serialized item of the response."""
    for index, create in enumerate(request.requests):
        try:
            service.queue(queue.name)  # it may have been deleted since the batch was started
            view = views.check(create.response_view)
            form = tasks.put(service, queue, create.task, view)
        except RpcError as error:
            failures[index] = error
        else:
            yield b"\x0a" + _varint(len(form)) + form


def _deleted(service: Service, request: messages.BatchDeleteTasksRequest) -> Failures:
    failures: Failures = {}
    for index, name in enumerate(request.names):
        try:
            tasks.delete_task(service, messages.DeleteTaskRequest(name=name))
        except RpcError as error:
            failures[index] = error
    return failures


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
