"""What every transport owes a real client and the emulator's core."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial

import grpc
import pytest
from google.api_core import exceptions
from google.cloud import tasks_v2
from google.cloud.tasks_v2.services.cloud_tasks import transports
from google.rpc import error_details_pb2, status_pb2

from injector.emulator.rpc import Code, Dropped, Handle, RpcError
from injector.emulator.transport.serve import serve
from injector.event_loops import loops
from tests.emulator.certificates import self_signed
from tests.emulator.loop_thread import NewEventLoop, loop_thread, serving
from tests.waiting import PATIENCE_S

QUEUE = "projects/p/locations/l/queues/q"
CREATE = "/google.cloud.tasks.v2.CloudTasks/CreateTask"


WAYS = {
    "asyncio": {"transport": "asyncio"},
    "asyncio on uvloop": {"transport": "asyncio", "new_event_loop": loops.new_event_loop},
    "grpc.aio": {"transport": "grpc.aio"},
}


@pytest.fixture(params=WAYS)
def server(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[int]]:
    return partial(serving, **WAYS[request.param])


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> tuple[str, NewEventLoop]:
    """Give a transport, and the kind of loop to run it on."""
    chosen = WAYS[request.param]
    return chosen["transport"], chosen.get("new_event_loop", asyncio.new_event_loop)


def echo(_method: str, request: bytes, _metadata: Mapping[str, str]) -> bytes:
    return request


def raises(error: Exception) -> Handle:
    def handle(_method: str, _request: bytes, _metadata: Mapping[str, str]) -> bytes:
        raise error

    return handle


def call(port: int, request: bytes = b"", **options: object) -> bytes:
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=UNLIMITED) as channel:
        return channel.unary_unary(CREATE)(request, **{"timeout": PATIENCE_S, **options})


UNLIMITED = (("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1))


def stores_named(_method: str, request: bytes, _metadata: Mapping[str, str]) -> bytes:
    create = tasks_v2.CreateTaskRequest.deserialize(request)
    create.task.name = f"{create.parent}/tasks/1"
    return tasks_v2.Task.serialize(create.task)


def a_task() -> tasks_v2.Task:
    return tasks_v2.Task(http_request=tasks_v2.HttpRequest(url="http://t.example/"))


def google_client(channel: grpc.Channel) -> tasks_v2.CloudTasksClient:
    way = transports.CloudTasksGrpcTransport(channel=channel)
    return tasks_v2.CloudTasksClient(transport=way)


def test_google_client_creates_a_task(server):
    with server(stores_named) as port, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        created = google_client(channel).create_task(parent=QUEUE, task=a_task())
    assert created.name == f"{QUEUE}/tasks/1"


def test_google_asyncio_client_creates_a_task(server):
    async def create(port: int) -> str:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            way = transports.CloudTasksGrpcAsyncIOTransport(channel=channel)
            client = tasks_v2.CloudTasksAsyncClient(transport=way)
            return (await client.create_task(parent=QUEUE, task=a_task())).name

    with server(stores_named) as port:
        assert asyncio.run(create(port)) == f"{QUEUE}/tasks/1"


def test_google_client_reads_code_message_and_details_of_an_error(server):
    status = status_pb2.Status(code=3, message="Queue ID is wrong: é%.")
    status.details.add().Pack(error_details_pb2.Help(links=[{"url": "https://help.example"}]))
    refusal = RpcError(Code.INVALID_ARGUMENT, status.message, status.SerializeToString())
    with server(raises(refusal)) as port, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        client = google_client(channel)
        with pytest.raises(exceptions.InvalidArgument) as raised:
            client.create_task(parent=QUEUE, task=a_task())
    assert raised.value.message == "Queue ID is wrong: é%."
    assert [detail.links[0].url for detail in raised.value.details] == ["https://help.example"]


@pytest.mark.parametrize("code", [code for code in Code if code is not Code.OK])
def test_every_code_arrives(server, code):
    with server(raises(RpcError(code, "why"))) as port, pytest.raises(grpc.RpcError) as raised:
        call(port)
    assert (raised.value.code().value[0], raised.value.details()) == (code, "why")


def test_details_longer_than_a_frame_arrive(server):
    details = bytes(range(256)) * 20
    error = RpcError(Code.ABORTED, "m" * 1000, details)
    with server(raises(error)) as port, pytest.raises(grpc.RpcError) as raised:
        call(port)
    assert dict(raised.value.trailing_metadata())["grpc-status-details-bin"] == details


def test_handler_sees_method_metadata_and_deadline(server):
    seen = []

    def handle(method: str, request: bytes, metadata: Mapping[str, str]) -> bytes:
        seen.append((method, request, metadata["x-goog-request-params"], metadata["grpc-timeout"]))
        return b""

    with server(handle) as port:
        call(port, b"abc", metadata=(("x-goog-request-params", "parent=q"),), timeout=9)
    method, request, params, timeout = seen[0]
    assert (method, request, params) == (CREATE, b"abc", "parent=q")
    assert timeout[-1] in "HMSmun"
    assert timeout[:-1].isdecimal()


def test_an_answer_may_come_later(server):
    async def later(request: bytes) -> bytes:
        await asyncio.sleep(0.01)
        return request

    with server(lambda _method, request, _metadata: later(request)) as port:
        assert call(port, b"abc") == b"abc"


def test_a_late_answer_may_be_an_error(server):
    async def later() -> bytes:
        await asyncio.sleep(0.01)
        raise RpcError(Code.RESOURCE_EXHAUSTED, "slow down")

    with server(lambda *_: later()) as port, pytest.raises(grpc.RpcError) as raised:
        call(port)
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


class Never:
    """A handler whose answers are lost, and which sees that nobody waits for them any more."""

    def __init__(self) -> None:
        self.asked, self.given_up = threading.Event(), threading.Event()

    def __call__(self, _method: str, _request: bytes, _metadata: Mapping[str, str]) -> Awaitable:
        self.asked.set()
        return self._forever()

    async def _forever(self) -> bytes:
        try:
            await asyncio.Event().wait()
        finally:
            self.given_up.set()
        return b""


def test_a_lost_answer_ends_with_the_clients_deadline(server):
    never = Never()
    with server(never) as port:
        while not never.asked.is_set():  # on a busy machine a call may be late before it is there
            with pytest.raises(grpc.RpcError) as raised:
                call(port, timeout=0.1)
        assert never.given_up.wait(PATIENCE_S)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_cancelled_call_is_given_up(server):
    never = Never()
    with server(never) as port, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        waiting = channel.unary_unary(CREATE).future(b"")
        assert never.asked.wait(PATIENCE_S)
        waiting.cancel()
        assert never.given_up.wait(PATIENCE_S)


def test_calls_of_a_client_that_went_away_are_given_up(server):
    never = Never()
    with server(never) as port:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            waiting = channel.unary_unary(CREATE).future(b"")
            assert never.asked.wait(PATIENCE_S)
        assert not waiting.running()
        assert never.given_up.wait(PATIENCE_S)


def test_a_dropped_call_looks_like_a_dead_server(server):
    with server(raises(Dropped())) as port, pytest.raises(grpc.RpcError) as raised:
        call(port)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


def test_a_late_answer_may_be_dropped(server):
    async def later() -> bytes:
        await asyncio.sleep(0.01)
        raise Dropped

    with server(lambda *_: later()) as port, pytest.raises(grpc.RpcError) as raised:
        call(port)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


@pytest.mark.parametrize("size", [0, 1, 16_379, 16_380, 70_000, 1_048_569, 9_000_000])
def test_messages_of_every_size_come_and_go(server, size):
    message = bytes(size)
    with server(echo) as port:
        assert call(port, message) == message


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_a_compressed_request_is_understood(server, compression):
    with server(echo) as port:
        assert call(port, b"abc" * 1000, compression=compression) == b"abc" * 1000


def test_more_calls_than_a_connection_takes_at_once_are_all_answered(server):
    async def later(request: bytes) -> bytes:
        await asyncio.sleep(0.01)
        return request

    with (
        server(lambda _method, request, _metadata: later(request)) as port,
        grpc.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        send = channel.unary_unary(CREATE)
        waiting = [send.future(str(n).encode(), timeout=PATIENCE_S) for n in range(350)]
        assert [each.result() for each in waiting] == [str(n).encode() for n in range(350)]


def test_a_broken_handler_ends_its_call_only(server, caplog):
    def handle(_method: str, request: bytes, _metadata: Mapping[str, str]) -> bytes:
        return bytes([1 // len(request)])

    with server(handle) as port, grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        send = channel.unary_unary(CREATE)
        with pytest.raises(grpc.RpcError) as raised:
            send(b"", timeout=PATIENCE_S)
        assert send(b"x", timeout=PATIENCE_S) == b"\1"
    assert raised.value.code() in {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN}
    assert "ZeroDivisionError" in caplog.text


def test_a_stopping_server_answers_what_it_took_and_takes_no_more(way):
    transport, new_event_loop = way
    asked, go_on = threading.Event(), asyncio.Event()

    async def later() -> bytes:
        asked.set()
        await go_on.wait()
        return b"done"

    with loop_thread(new_event_loop) as thread:
        running = thread.run(
            serve(lambda *_: later(), host="127.0.0.1", port=0, transport=transport)
        )
        with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
            waiting = channel.unary_unary(CREATE).future(b"")
            assert asked.wait(PATIENCE_S)
            thread.run(stop_while(running, go_on))
            assert waiting.result(PATIENCE_S) == b"done"
        with pytest.raises(grpc.RpcError) as raised:
            call(running.port)
    assert raised.value.code() is grpc.StatusCode.UNAVAILABLE


async def stop_while(running, go_on: asyncio.Event) -> None:
    stopping = asyncio.create_task(running.stop(grace_s=10))
    await asyncio.sleep(0)
    go_on.set()
    await stopping


def test_a_stopping_server_waits_for_a_lost_answer_no_longer_than_its_grace(way):
    transport, new_event_loop = way
    never = Never()
    with loop_thread(new_event_loop) as thread:
        running = thread.run(serve(never, host="127.0.0.1", port=0, transport=transport))
        with grpc.insecure_channel(f"127.0.0.1:{running.port}") as channel:
            waiting = channel.unary_unary(CREATE).future(b"")
            assert never.asked.wait(PATIENCE_S)
            thread.run(running.stop(grace_s=0.05))
            assert waiting.exception(PATIENCE_S).code() in {
                grpc.StatusCode.UNAVAILABLE,
                grpc.StatusCode.CANCELLED,
            }
    assert never.given_up.wait(PATIENCE_S)


def test_a_call_over_tls_is_answered(server, tmp_path):
    tls = self_signed(tmp_path)
    credentials = grpc.ssl_channel_credentials(tls.certificate.read_bytes())
    with (
        server(echo, tls=tls) as port,
        grpc.secure_channel(f"localhost:{port}", credentials) as channel,
    ):
        assert channel.unary_unary(CREATE)(bytes(100_000), timeout=PATIENCE_S) == bytes(100_000)


def test_a_port_that_is_taken_is_an_error_of_the_system(server):
    with server(echo) as port, pytest.raises(OSError, match=str(port)), server(echo, port=port):
        pass
