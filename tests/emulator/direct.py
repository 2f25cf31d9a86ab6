"""An emulator called directly by the real client, without network, in frozen time."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Self

import grpc
import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

from injector.emulator.assembly import assemble
from injector.emulator.options import Options
from injector.emulator.parts import Parts
from injector.emulator.rpc import RpcError
from injector.emulator.state.dynamics import OFF
from injector.emulator.state.queue import Queue
from injector.emulator.state.task import Attempt, Outcome

LOCATION = "projects/p/locations/us-central1"
START = 1_800_000_000.0


class Refused(grpc.RpcError, grpc.Call):
    """What a client sees of an RpcError."""

    def __init__(self, error: RpcError) -> None:
        super().__init__()
        self._error = error

    def code(self) -> grpc.StatusCode:
        return next(c for c in grpc.StatusCode if c.value[0] == self._error.code)

    def details(self) -> str:
        return self._error.message

    def trailing_metadata(self) -> tuple[tuple[str, bytes], ...]:
        key = "grpc-status-details-bin"
        return ((key, self._error.details),) if self._error.details else ()

    def result(self, _timeout: float | None = None) -> None:
        raise self

    initial_metadata = trailing_metadata

    def add_callback(self, callback: object) -> None: ...
    def cancel(self) -> None: ...
    def is_active(self) -> bool:
        return False

    def time_remaining(self) -> None: ...


@dataclass(eq=False)
class Stub:
    """One method of a channel that calls an emulator's handle, without any network."""

    parts: Parts
    method: str
    serialize: Callable[[object], bytes]
    deserialize: Callable[[bytes], object]

    def __call__(self, request: object, **options: object) -> object:
        return self.with_call(request, **options)[0]

    def with_call(self, request, timeout=None, metadata=(), **_: object):
        routing = {key: value for key, value in metadata or () if isinstance(value, str)}
        if timeout is not None:
            routing["grpc-timeout"] = f"{int(timeout * 1000)}m"
        try:
            answer = self.parts.handle(self.method, self.serialize(request), routing)
            answer = asyncio.run(_wait(answer, self.parts)) if isawaitable(answer) else answer
        except RpcError as error:
            raise Refused(error) from error
        return self.deserialize(answer), None


async def _wait(answer, parts: Parts) -> bytes:
    waiting = asyncio.ensure_future(answer)
    await asyncio.sleep(0)
    if parts.state_file is not None:
        parts.state_file.flush()
    return await waiting


class Channel(grpc.Channel):
    """A channel straight into an emulator."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def unary_unary(self, method, request_serializer=None, response_deserializer=None, *_: object):
        return Stub(self._parts, method, request_serializer, response_deserializer)

    unary_stream = stream_unary = stream_stream = unary_unary

    def subscribe(self, callback, try_to_connect=None) -> None: ...
    def unsubscribe(self, callback) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


@dataclass(frozen=True)
class Direct:
    """An emulator in frozen time whose attempts the test carries out itself."""

    parts: Parts
    client: tasks_v2.CloudTasksClient
    forced: list[tuple[Queue, Attempt]] = field(default_factory=list)

    @property
    def now(self) -> float:
        return self.parts.clock.now()

    def queue(self, name: str = "q", **settings: object) -> str:
        """Make a queue and return its name."""
        full = f"{LOCATION}/queues/{name}"
        self.client.create_queue(parent=LOCATION, queue={"name": full, **settings})
        return full

    def task(self, queue: str, task_id: str = "", **fields: object) -> tasks_v2.Task:
        """Make a task and return it."""
        name = {"name": f"{queue}/tasks/{task_id}"} if task_id else {}
        if "app_engine_http_request" not in fields:
            fields.setdefault("http_request", {"url": "http://target.test/x"})
        return self.client.create_task(parent=queue, task={**name, **fields})

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self.parts.clock.advance(seconds)

    def due(self) -> list[tuple[Queue, Attempt]]:
        """Start what is due."""
        return list(self.parts.service.registry.take_due(now=self.now))

    def end(self, started: tuple[Queue, Attempt], status: int | None = 200, **more: float) -> None:
        """End an attempt."""
        outcome = Outcome(status, **more)
        self.parts.service.registry.settle(*started, outcome, now=self.now)

    def depth(self, queue: str) -> int:
        """Return how many tasks a queue holds."""
        return self.parts.service.registry.queues[queue].depth


@contextmanager
def direct_emulator(**options: object) -> Iterator[Direct]:
    """Yield an emulator in frozen time, without dynamics unless asked for."""
    chosen = Options(**{"dynamics": OFF, "frozen": True, "origin": START, **options})
    parts = assemble(chosen)
    client = tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=Channel(parts)))
    emulator = Direct(parts, client)
    parts.service.start = lambda queue, attempt: emulator.forced.append((queue, attempt))
    yield emulator
    if parts.state_file is not None:
        parts.state_file.close()


@contextmanager
def refused(code: str, message: str = "") -> Iterator[None]:
    """Expect the block to be refused with a code and, in its text, a message."""
    with pytest.raises(GoogleAPICallError) as caught:
        yield
    assert caught.value.grpc_status_code is not None
    assert caught.value.grpc_status_code.name == code, caught.value
    assert message in caught.value.message
