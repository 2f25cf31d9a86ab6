"""A small Cloud Tasks over gRPC that does what a test tells it, and remembers what it was asked."""

import asyncio
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

import grpc
from google.cloud.tasks_v2 import types
from google.longrunning import operations_pb2
from google.protobuf import any_pb2

TASKS = "google.cloud.tasks.v2.CloudTasks"
OPERATIONS = "google.longrunning.Operations"

CreateTaskRequest = types.CreateTaskRequest.pb()
BatchRequest = types.BatchCreateTasksRequest.pb()
BatchResponse = types.BatchCreateTasksResponse.pb()
BatchMetadata = types.BatchCreateTasksMetadata.pb()
Task = types.Task.pb()
QueueMessage = types.Queue.pb()


@dataclass(frozen=True)
class Answer:
    """What becomes of one call: its status, whether it takes effect all the same, and when."""

    code: str = "OK"
    stores: bool | None = None
    until: Callable[[], bool] = lambda: True
    delay_s: float = 0.0
    message: str = "as the test asked"

    @property
    def takes_effect(self) -> bool:
        return self.code == "OK" if self.stores is None else self.stores


@dataclass
class Seen:
    """One call as it arrived."""

    method: str
    number: int
    names: list[str]
    queue: str
    timeout_s: float | None
    metadata: dict[str, str]
    request: bytes


Plan = Callable[[Seen], Answer]
Options = tuple[tuple[str, int], ...]


@dataclass
class Service:
    """The state of the server; `plan` decides each CreateTask and BatchCreateTasks."""

    plan: Plan = lambda _: Answer()
    open_queues: bool = True
    queues: dict[str, QueueMessage] = field(default_factory=dict)
    tasks: dict[str, Task] = field(default_factory=dict)
    calls: list[Seen] = field(default_factory=list)
    peers: set[str] = field(default_factory=set)
    running: int = 0
    most_running: int = 0
    cancelled: int = 0
    batches: bool = True
    refuses_whole: bool = False
    slow_operations: int = 0
    operation_error: int = 0
    operations: dict[str, operations_pb2.Operation] = field(default_factory=dict)
    polls: Counter[str] = field(default_factory=Counter)
    address: str = ""

    def of(self, method: str) -> list[Seen]:
        return [seen for seen in self.calls if seen.method == method]

    def sent(self) -> Counter[str]:
        """Count how often each task's create arrived."""
        return Counter(name for seen in self.calls for name in seen.names)

    async def CreateTask(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        request = CreateTaskRequest.FromString(raw)
        answer = await self._answer("CreateTask", raw, [request.task.name], request.parent, context)
        if answer.takes_effect:
            code = self._store(request)
            if code != "OK" and answer.code == "OK":
                await self._abort(context, code, f"{request.task.name}: {code}")
        if answer.code != "OK":
            await self._abort(context, answer.code, answer.message)
        return request.task.SerializeToString()

    async def BatchCreateTasks(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        request = BatchRequest.FromString(raw)
        names = [one.task.name for one in request.requests]
        answer = await self._answer("BatchCreateTasks", raw, names, request.parent, context)
        if not self.batches:
            await self._abort(context, "UNIMPLEMENTED", "no batches here")
        if len(names) > 100 or any(one.parent != request.parent for one in request.requests):
            await self._abort(context, "INVALID_ARGUMENT", "at most 100, all in one queue")
        if self.refuses_whole and answer.code == "INVALID_ARGUMENT":
            await self._abort(context, answer.code, answer.message)
        operation = self.operations.get(request.request_id)
        if operation is None:
            operation = self._run_batch(request, answer)
            self.operations[request.request_id] = operation
        if answer.code != "OK" and answer.stores:
            await self._abort(context, answer.code, answer.message)
        return self._shown(operation)

    async def GetOperation(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        name = operations_pb2.GetOperationRequest.FromString(raw).name
        self.polls[name] += 1
        for operation in self.operations.values():
            if operation.name == name:
                return self._shown(operation)
        await self._abort(context, "NOT_FOUND", name)
        return b""

    async def GetQueue(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        name = types.GetQueueRequest.pb().FromString(raw).name
        if name not in self.queues:
            await self._abort(context, "NOT_FOUND", "Queue does not exist.")
        return self.queues[name].SerializeToString()

    async def CreateQueue(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        queue = types.CreateQueueRequest.pb().FromString(raw).queue
        if queue.name in self.queues:
            await self._abort(context, "ALREADY_EXISTS", "Queue already exists")
        queue.state = types.Queue.State.RUNNING
        self.queues[queue.name] = queue
        return queue.SerializeToString()

    async def UpdateQueue(self, raw: bytes, context: grpc.aio.ServicerContext) -> bytes:  # noqa: N802
        request = types.UpdateQueueRequest.pb().FromString(raw)
        if request.queue.name not in self.queues:
            await self._abort(context, "NOT_FOUND", "Queue does not exist.")
        self.calls.append(
            Seen(
                "UpdateQueue",
                len(self.calls),
                list(request.update_mask.paths),
                request.queue.name,
                None,
                {},
                raw,
            )
        )
        request.update_mask.MergeMessage(request.queue, self.queues[request.queue.name])
        return self.queues[request.queue.name].SerializeToString()

    async def _answer(
        self,
        method: str,
        raw: bytes,
        names: list[str],
        queue: str,
        context: grpc.aio.ServicerContext,
    ) -> Answer:
        seen = Seen(
            method,
            len(self.calls),
            names,
            queue,
            context.time_remaining(),
            dict(context.invocation_metadata() or ()),
            raw,
        )
        self.calls.append(seen)
        self.peers.add(context.peer())
        answer = self.plan(seen)
        self.running += 1
        self.most_running = max(self.running, self.most_running)
        try:
            await asyncio.sleep(answer.delay_s)
            while True:
                if answer.until():
                    break
                await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        if seen.timeout_s is not None and seen.timeout_s > 30.5:
            await self._abort(context, "INVALID_ARGUMENT", "deadline more than 30s in the future")
        return answer

    def _store(self, request: CreateTaskRequest) -> str:
        name = request.task.name
        if not self.open_queues and request.parent not in self.queues:
            return "NOT_FOUND"
        if not name.startswith(f"{request.parent}/tasks/"):
            return "INVALID_ARGUMENT"
        if name in self.tasks:
            return "ALREADY_EXISTS"
        self.tasks[name] = request.task
        return "OK"

    def _run_batch(self, request: BatchRequest, answer: Answer) -> operations_pb2.Operation:
        metadata, response = BatchMetadata(), BatchResponse()
        if self.operation_error and answer.code == "OK":
            return self._failed_operation(BatchMetadata(state=3))
        for index, one in enumerate(request.requests):
            code = self._store(one) if answer.takes_effect else answer.code
            if code == "OK":
                response.tasks.append(one.task)
            else:
                metadata.failed_requests[index].code = grpc.StatusCode[code].value[0]
                metadata.failed_requests[index].message = code
        metadata.state = 5 if metadata.failed_requests else 2
        if self.operation_error:
            return self._failed_operation(metadata)
        operation = _operation(metadata)
        operation.response.CopyFrom(_any(response))
        return operation

    def _failed_operation(self, metadata: BatchMetadata) -> operations_pb2.Operation:
        operation = _operation(metadata)
        operation.error.code = self.operation_error
        return operation

    def _shown(self, operation: operations_pb2.Operation) -> bytes:
        if self.polls[operation.name] < self.slow_operations:
            return operations_pb2.Operation(name=operation.name).SerializeToString()
        return operation.SerializeToString()

    async def _abort(self, context: grpc.aio.ServicerContext, code: str, message: str) -> None:
        await context.abort(grpc.StatusCode[code], message)


def _operation(metadata: BatchMetadata) -> operations_pb2.Operation:
    operation = operations_pb2.Operation(name=f"operations/{uuid.uuid4()}", done=True)
    operation.metadata.CopyFrom(_any(metadata))
    return operation


def _any(message: object) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(message)
    return packed


class Proxy:
    """Stands between a client and a server, and can cut every connection at once."""

    def __init__(self, to: str) -> None:
        self._host, _, self._port = to.rpartition(":")
        self._writers: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.get_running_loop()
        self.address = ""
        self.cuts = 0

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return server

    def cut(self) -> None:
        self.cuts += 1
        self._loop.call_soon_threadsafe(self.drop)

    def drop(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection(self._host, self._port)
        self._writers |= {writer, outer}
        await asyncio.gather(_pump(reader, outer), _pump(inner, writer))
        self._writers -= {writer, outer}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while received := await reader.read(65_536):
            writer.write(received)
    writer.transport.abort()


@contextmanager
def looping() -> Iterator[asyncio.AbstractEventLoop]:
    """Run a loop on a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def proxied(service: Service) -> Iterator[Proxy]:
    """Put a proxy before the service."""

    async def start() -> tuple[Proxy, asyncio.Server]:
        proxy = Proxy(service.address)
        return proxy, await proxy.start()

    async def stop(proxy: Proxy, server: asyncio.Server) -> None:
        server.close()
        proxy.drop()
        await server.wait_closed()
        await settle()

    with looping() as loop:
        proxy, server = asyncio.run_coroutine_threadsafe(start(), loop).result()
        yield proxy
        asyncio.run_coroutine_threadsafe(stop(proxy, server), loop).result()


@contextmanager
def serve(
    service: Service, *, port: int = 0, credentials: object = None, options: Options = ()
) -> Iterator[Service]:
    """Serve on a loop and thread of its own until the test is over."""
    with looping() as loop:
        starting = _start(service, port, credentials, options)
        server = asyncio.run_coroutine_threadsafe(starting, loop).result()
        yield service
        asyncio.run_coroutine_threadsafe(server.stop(None), loop).result()
        del server
        asyncio.run_coroutine_threadsafe(settle(), loop).result()


async def settle() -> None:
    """Let what a server starts when it is let go of come to its end."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    await asyncio.gather(*left, return_exceptions=True)


async def _start(
    service: Service, port: int, credentials: object, options: Options
) -> grpc.aio.Server:
    server = grpc.aio.server(options=options)
    for name, methods in (
        (TASKS, ("CreateTask", "BatchCreateTasks", "GetQueue", "CreateQueue", "UpdateQueue")),
        (OPERATIONS, ("GetOperation",)),
    ):
        handlers = {
            method: grpc.unary_unary_rpc_method_handler(getattr(service, method))
            for method in methods
        }
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(name, handlers),))
    address = f"127.0.0.1:{port}"
    bound = (
        server.add_secure_port(address, credentials)
        if credentials
        else server.add_insecure_port(address)
    )
    service.address = f"127.0.0.1:{bound}"
    await server.start()
    return server
