"""The state file: what a restart keeps."""

import asyncio
import resource
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, asynccontextmanager, closing, contextmanager

import pytest
from google.cloud import tasks_v2

from injector.emulator.options import Options
from injector.emulator.resetting import reset
from injector.emulator.rpc import RpcError
from injector.emulator.server import running
from injector.emulator.state.dynamics import OFF
from injector.emulator.state.registry import Windows
from injector.errors import Misused, Retryable
from tests.emulator.direct import direct_emulator, refused

LOCATION = "projects/p/locations/us-central1"
CREATE_TASK = "/google.cloud.tasks.v2.CloudTasks/CreateTask"


@pytest.fixture
def restarted(tmp_path):
    """Return what gives an emulator on the same file, after ending the one before."""
    return lambda **options: direct_emulator(
        state_file=tmp_path / "state.db", **{"origin": 1_800_000_000.0, **options}
    )


def test_queues_come_back_as_they_were(restarted):
    with restarted() as before:
        name = before.queue(
            rate_limits={"max_dispatches_per_second": 7.5}, http_target={"http_method": "PUT"}
        )
        before.client.pause_queue(name=name)
        before.client.purge_queue(name=name)
        kept = before.client.get_queue(name=name)
    with restarted() as after:
        assert after.client.get_queue(name=name) == kept


def test_tasks_come_back_with_their_counts_and_times(restarted):
    with restarted() as before:
        queue = before.queue(retry_config={"min_backoff": {"seconds": 30}})
        before.task(queue, "failed", retry_config={"max_attempts": 3})
        before.end(before.due()[0], 503)
        before.task(queue, "future", schedule_time={"seconds": int(before.now) + 3600})
        kept = list(before.client.list_tasks(parent=queue))
    with restarted() as after:
        assert list(after.client.list_tasks(parent=queue)) == kept
        after.advance(3600)
        headers = [(attempt.task.id, attempt.number) for _, attempt in after.due()]
        assert headers == [("failed", 1), ("future", 0)]


def test_attempt_whose_end_is_not_known_is_made_again(restarted):
    with restarted() as before:
        before.task(before.queue(), "t")
        before.due()
    with restarted() as after:
        ((_, attempt),) = after.due()
        assert attempt.number == 1


def test_names_stay_reserved(restarted):
    with restarted() as before:
        queue, gone = before.queue(), before.queue("gone")
        before.client.delete_task(name=before.task(queue, "t").name)
        before.client.delete_queue(name=gone)
    with restarted() as after:
        with refused("ALREADY_EXISTS", "existed too recently"):
            after.task(queue, "t")
        with refused("FAILED_PRECONDITION"):
            after.queue("gone")
        assert after.depth(queue) == 0


def test_operations_policies_and_keys_come_back(restarted):
    with restarted() as before:
        queue = before.queue()
        item = {"parent": queue, "task": {"http_request": {"url": "http://x"}}}
        request = {"parent": queue, "requests": [item], "request_id": "r"}
        operation = before.client.batch_create_tasks(request=request).operation
        policy = before.client.set_iam_policy(request={"resource": queue, "policy": {"version": 1}})
        key = "projects/k/locations/us-central1/keyRings/r/cryptoKeys/c"
        config = {"name": f"{LOCATION}/cmekConfig", "kms_key": key}
        before.client.update_cmek_config(cmek_config=config)
    with restarted() as after:
        assert after.client.batch_create_tasks(request=request).operation == operation
        assert after.client.get_iam_policy(request={"resource": queue}) == policy
        assert after.client.get_cmek_config(name=config["name"]).kms_key == key
        assert after.depth(queue) == 1


def test_policy_and_key_alone_are_written_before_they_are_confirmed(restarted, tmp_path):
    def in_file(table: str) -> list[str]:
        with closing(sqlite3.connect(tmp_path / "state.db")) as file:
            return [row[0] for row in file.execute(f"SELECT * FROM {table}")]

    with restarted() as before:
        queue = before.queue()
        policy = {"bindings": [{"role": "roles/viewer", "members": ["allUsers"]}]}
        before.client.set_iam_policy(request={"resource": queue, "policy": policy})
        assert in_file("policies") == [queue]
        before.client.update_cmek_config(cmek_config={"name": f"{LOCATION}/cmekConfig"})
        assert in_file("keys") == [LOCATION]


def test_queue_made_again_does_not_get_its_old_policy_back(restarted):
    with restarted() as before:
        queue = before.queue()
        policy = {"bindings": [{"role": "roles/viewer", "members": ["allUsers"]}]}
        before.client.set_iam_policy(request={"resource": queue, "policy": policy})
    with restarted(windows=Windows(queue_s=0)) as between:
        between.client.delete_queue(name=queue)
    with restarted() as after:
        assert after.queue() == queue
        assert not after.client.get_iam_policy(request={"resource": queue}).bindings


@pytest.mark.parametrize("keep_queues", [False, True])
def test_reset_leaves_nothing_in_the_file_but_the_queues_if_wished(restarted, keep_queues):
    name = f"{LOCATION}/queues/"
    with restarted() as before:
        queue, gone = before.queue(), before.queue("gone")
        before.client.delete_queue(name=gone)
        key = {"name": f"{LOCATION}/cmekConfig", "kms_key": f"{LOCATION}/keyRings/r/cryptoKeys/c"}
        before.client.update_cmek_config(cmek_config=key)
        before.client.set_iam_policy(request={"resource": queue, "policy": {"version": 1}})
        before.parts.state_file.flush()
        before.client.delete_queue(name=before.queue("late"))
        reset(before.parts, keep_queues=keep_queues)
    with restarted() as after:
        kept = [found.name for found in after.client.list_queues(parent=LOCATION)]
        assert kept == ([queue] if keep_queues else [])
        assert {after.queue("gone"), after.queue("late")} == {name + "gone", name + "late"}
        assert not after.client.get_cmek_config(name=key["name"]).kms_key
        assert not after.parts.service.policies


def test_queue_made_again_does_not_get_its_old_tasks_back(restarted):
    with restarted() as before:
        name = before.queue()
        before.task(name, "old")
        before.client.delete_queue(name=name)
        before.advance(4 * 86400)
        before.queue()
        before.task(name, "new")
        origin = before.now
    with restarted(origin=origin) as after:
        names = [task.name.rpartition("/")[2] for task in after.client.list_tasks(parent=name)]
        assert names == ["new"]


def test_made_up_ids_do_not_repeat_after_a_restart(restarted):
    names = set()
    for _ in range(3):
        with restarted() as emulator:
            queue = f"{LOCATION}/queues/q"
            if not names:
                emulator.queue()
            names.update(emulator.task(queue).name for _ in range(5))
    assert len(names) == 15


def test_file_that_is_no_state_file_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but long enough to be read as one " * 100)
    with (
        pytest.raises(Misused, match="cannot be used as state file"),
        direct_emulator(state_file=path),
    ):
        pass


def test_file_of_another_format_is_refused(tmp_path):
    path = tmp_path / "state.db"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(Misused, match="has format 99"), direct_emulator(state_file=path):
        pass


def test_file_of_an_emulator_that_runs_is_refused_until_that_has_ended(restarted):
    refusal = pytest.raises(Misused, match="is in use by another emulator")
    with restarted(), refusal, restarted():
        pass
    with restarted() as after:
        assert after.queue()


def test_call_is_answered_once_its_change_is_in_the_file(tmp_path):
    path = tmp_path / "state.db"

    async def create() -> list[str]:
        options = Options(port=0, state_file=path, dynamics=OFF, queues=(f"{LOCATION}/queues/q",))
        async with running(options) as emulator:
            name = f"{LOCATION}/queues/q"
            emulator.parts.service.registry.pause(emulator.parts.service.registry.queues[name])
            task = tasks_v2.Task(http_request={"url": "http://x"}, name=f"{name}/tasks/t")
            request = tasks_v2.CreateTaskRequest(parent=name, task=task)
            serialized = tasks_v2.CreateTaskRequest.serialize(request)
            await emulator.parts.handle(CREATE_TASK, serialized, {})
            with sqlite3.connect(path) as reader:
                found = [row[0] for row in reader.execute("SELECT id FROM tasks")]
            reader.close()
            return found

    assert asyncio.run(create()) == ["t"]


def test_attempt_leaves_once_it_is_in_the_file(tmp_path):
    path = tmp_path / "state.db"
    seen = asyncio.Queue()

    async def arrive(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        with sqlite3.connect(path) as file:
            await seen.put(file.execute("SELECT id, dispatch_count FROM tasks").fetchall())
        file.close()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async def create():
        name = f"{LOCATION}/queues/q"
        options = Options(port=0, state_file=path, dynamics=OFF, queues=(name,))
        async with await asyncio.start_server(arrive, "127.0.0.1", 0) as target:
            url = f"http://127.0.0.1:{target.sockets[0].getsockname()[1]}/"
            async with running(options) as emulator:
                task = tasks_v2.Task(http_request={"url": url}, name=f"{name}/tasks/t")
                request = tasks_v2.CreateTaskRequest(parent=name, task=task)
                serialized = tasks_v2.CreateTaskRequest.serialize(request)
                answer = emulator.parts.handle(CREATE_TASK, serialized, {})
                async with asyncio.timeout(20):
                    found = await seen.get()
                await answer
                return found

    assert asyncio.run(create()) == [("t", 1)]


def create_request(number: int) -> bytes:
    name = f"{LOCATION}/queues/q"
    task = tasks_v2.Task(
        http_request={"url": "http://x", "body": b"x" * 20_000}, name=f"{name}/tasks/t{number}"
    )
    return tasks_v2.CreateTaskRequest.serialize(tasks_v2.CreateTaskRequest(parent=name, task=task))


@contextmanager
def full_disk() -> Iterator[None]:
    """Let this process write no file any longer, whatever it is."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


async def created(emulator, number: int) -> str:
    try:
        await emulator.parts.handle(CREATE_TASK, create_request(number), {})
    except RpcError as error:
        return f"{error.code.name}: {error.message}"
    return "OK"


@asynccontextmanager
async def paused_emulator(path):
    options = Options(port=0, state_file=path, dynamics=OFF, queues=(f"{LOCATION}/queues/q",))
    async with running(options) as emulator:
        for queue in emulator.parts.service.registry.queues.values():
            emulator.parts.service.registry.pause(queue)
        yield emulator


def test_calls_on_a_full_disk_are_refused_and_all_is_written_once_there_is_room(
    restarted, tmp_path
):
    path = tmp_path / "state.db"

    async def go() -> list[str]:
        async with paused_emulator(path) as emulator:
            ends = [await created(emulator, 1)]
            with full_disk():
                ends += [await created(emulator, 2), await created(emulator, 3)]
            return [*ends, await created(emulator, 4)]

    full = f"UNAVAILABLE: {path}: cannot be written (disk I/O error)."
    assert asyncio.run(go()) == ["OK", full, full, "OK"]
    with restarted() as after:
        found = after.client.list_tasks(parent=f"{LOCATION}/queues/q")
        assert [task.name.rpartition("/")[2] for task in found] == ["t1", "t2", "t3", "t4"]


def test_end_on_a_full_disk_tells_what_is_lost(tmp_path):
    async def go() -> None:
        async with paused_emulator(tmp_path / "state.db") as emulator:
            stack.enter_context(full_disk())
            await created(emulator, 1)

    with (
        ExitStack() as stack,
        pytest.raises(Retryable, match=r"disk I/O error\)\. The changes since .* lost"),
    ):
        asyncio.run(go())
