"""Batches of tasks and the operations that report them."""

import asyncio

import pytest
from google.cloud import tasks_v2
from google.cloud.tasks_v2.types import cloudtasks
from google.longrunning import operations_pb2

from injector.emulator.api.operations import Operations
from injector.emulator.api.service import Rules
from tests.emulator.direct import refused
from tests.waiting import PATIENCE_S

LOCATION = "projects/p/locations/us-central1"
Creates, Deletes = cloudtasks.BatchCreateTasksMetadata, cloudtasks.BatchDeleteTasksMetadata
EXISTS, MISSING, INVALID, ABORTED = 6, 5, 3, 10


def item(queue: str, task_id: str = "", url: str = "http://target.test/x") -> dict[str, object]:
    name = {"name": f"{queue}/tasks/{task_id}"} if task_id else {}
    return {"parent": queue, "task": {**name, "http_request": {"url": url}}}


def create(direct, queue, items, **more: object) -> operations_pb2.Operation:
    request = {"parent": queue, "requests": items, **more}
    return direct.client.batch_create_tasks(request=request).operation


def delete(direct, queue, ids, **more: object) -> operations_pb2.Operation:
    names = [f"{queue}/tasks/{task_id}" for task_id in ids]
    request = {"parent": queue, "names": names, **more}
    return direct.client.batch_delete_tasks(request=request).operation


def made(operation) -> list[tasks_v2.Task]:
    return list(cloudtasks.BatchCreateTasksResponse.deserialize(operation.response.value).tasks)


def told(kind, operation):
    return kind.deserialize(operation.metadata.value)


def test_batch_creates_every_task_and_tells_so(direct):
    queue = direct.queue()
    operation = create(direct, queue, [item(queue, "a"), item(queue, "b"), item(queue)])
    metadata = told(Creates, operation)
    assert operation.done
    assert operation.name.startswith(f"{LOCATION}/operations/")
    assert [task.name for task in made(operation)][:2] == [f"{queue}/tasks/a", f"{queue}/tasks/b"]
    assert metadata.state == Creates.State.SUCCEEDED
    assert metadata.start_time.timestamp() == metadata.end_time.timestamp() == direct.now
    assert direct.depth(queue) == 3
    assert len(direct.due()) == 3


def test_tasks_of_a_batch_come_in_the_view_that_each_asked_for(direct):
    queue = direct.queue()
    items = [item(queue), {**item(queue), "response_view": tasks_v2.Task.View.FULL}]
    for each in items:
        each["task"]["http_request"]["body"] = b"x" * 300
    assert [len(task.http_request.body) for task in made(create(direct, queue, items))] == [0, 300]


def test_failures_of_a_batch_are_told_by_index(direct):
    queue = direct.queue()
    direct.task(queue, "taken")
    items = [item(queue, "new"), item(queue, "taken"), item(queue, url="nowhere"), item(queue)]
    operation = create(direct, queue, items)
    metadata = told(Creates, operation)
    failed = {index: status.code for index, status in metadata.failed_requests.items()}
    assert failed == {1: EXISTS, 2: INVALID}
    assert metadata.state == Creates.State.PARTIALLY_SUCCEEDED
    assert len(made(operation)) == 2
    assert not operation.HasField("error")


def test_batch_in_which_all_fail_is_aborted(direct):
    queue = direct.queue()
    operation = create(direct, queue, [item(queue, url="nowhere")])
    assert operation.error.code == ABORTED
    assert operation.error.message.startswith(
        "None of the requests succeeded, refer to BatchCreate"
    )
    assert set(told(Creates, operation).failed_requests) == {0}


@pytest.mark.parametrize("count", [0, 101])
def test_batch_takes_1_to_100_creates(direct, count):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT"):
        create(direct, queue, [item(queue)] * count)
    assert len(made(create(direct, queue, [item(queue)] * 100))) == 100


def test_batch_is_for_one_queue(direct):
    queue, other = direct.queue("a"), direct.queue("b")
    with refused("INVALID_ARGUMENT"):
        create(direct, queue, [item(queue), item(other)])
    assert direct.depth(queue) == 0


def test_batch_in_a_missing_queue_is_not_found(direct):
    missing = f"{LOCATION}/queues/none"
    with refused("NOT_FOUND", "Queue does not exist."):
        create(direct, missing, [item(missing)])


def test_request_id_finds_the_operation_again_in_its_queue_only(direct):
    queue, other = direct.queue("a"), direct.queue("b")
    first = create(direct, queue, [item(queue)], request_id="r")
    again = create(direct, queue, [item(queue)], request_id="r")
    elsewhere = create(direct, other, [item(other)], request_id="r")
    assert first == again
    assert elsewhere.name != first.name
    assert (direct.depth(queue), direct.depth(other)) == (1, 1)


def test_batch_deletes_and_reserves_names(direct):
    queue = direct.queue()
    for task_id in "abc":
        direct.task(queue, task_id)
    operation = delete(direct, queue, "ab", request_id="r")
    assert told(Deletes, operation).state == Deletes.State.SUCCEEDED
    assert delete(direct, queue, "ab", request_id="r") == operation
    assert direct.depth(queue) == 1
    with refused("ALREADY_EXISTS"):
        direct.task(queue, "a")


def test_failures_of_a_delete_are_told_by_index(direct):
    queue = direct.queue()
    direct.task(queue, "a")
    partly = delete(direct, queue, ["none", "a"])
    assert told(Deletes, partly).state == Deletes.State.PARTIALLY_SUCCEEDED
    assert {i: s.code for i, s in told(Deletes, partly).failed_requests.items()} == {0: MISSING}
    assert not partly.HasField("error")
    nothing = delete(direct, queue, ["none", "b"])
    assert nothing.error.code == ABORTED
    assert told(Deletes, nothing).state == Deletes.State.PARTIALLY_SUCCEEDED


@pytest.mark.parametrize("count", [0, 1001])
def test_batch_takes_1_to_1000_deletes(direct, count):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT"):
        delete(direct, queue, [f"t{i}" for i in range(count)])


def test_delete_of_another_queues_task_is_refused(direct):
    queue, other = direct.queue("a"), direct.queue("b")
    with refused("INVALID_ARGUMENT", "The queue name from request"):
        request = {"parent": queue, "names": [f"{other}/tasks/t"]}
        direct.client.batch_delete_tasks(request=request)


def test_operation_is_listed_fetched_waited_for_and_deleted(direct):
    queue = direct.queue()
    first, second = (create(direct, queue, [item(queue)]) for _ in range(2))
    operations = direct.client.transport.operations_client
    assert operations.get_operation(first.name) == first
    assert list(operations.list_operations(LOCATION, "")) == [first, second]
    operations.cancel_operation(first.name)
    assert operations.get_operation(first.name) == first
    operations.delete_operation(first.name)
    with refused("NOT_FOUND"):
        operations.get_operation(first.name)
    assert list(operations.list_operations(LOCATION, "done=true")) == [second]


def test_client_waits_for_its_result(direct):
    queue = direct.queue()
    request = {"parent": queue, "requests": [item(queue)]}
    future = direct.client.batch_create_tasks(request=request)
    assert len(future.result(timeout=PATIENCE_S).tasks) == 1


def test_slow_operation_runs_until_its_time_and_works_then(emulate):
    emulator = emulate(rules=Rules(operation_s=60))
    queue = emulator.queue()
    operation = create(emulator, queue, [item(queue)])
    assert not operation.done
    assert told(Creates, operation).state == Creates.State.RUNNING
    assert emulator.depth(queue) == 0
    emulator.advance(60)
    emulator.parts.service.operations.finish_due(now=emulator.now)
    done = emulator.client.get_operation({"name": operation.name})
    assert told(Creates, done).state == Creates.State.SUCCEEDED
    assert emulator.depth(queue) == 1


def test_cancelled_operation_does_nothing(emulate):
    emulator = emulate(rules=Rules(operation_s=60))
    queue = emulator.queue()
    operation = create(emulator, queue, [item(queue)])
    emulator.client.transport.operations_client.cancel_operation(operation.name)
    emulator.advance(60)
    emulator.parts.service.operations.finish_due(now=emulator.now)
    done = emulator.client.get_operation({"name": operation.name})
    assert told(Creates, done).state == Creates.State.CANCELLED
    assert done.error.code == 1
    assert emulator.depth(queue) == 0


def test_running_operation_that_is_deleted_does_its_work_unseen(emulate):
    emulator = emulate(rules=Rules(operation_s=60))
    queue = emulator.queue()
    operation = create(emulator, queue, [item(queue)])
    operations = emulator.client.transport.operations_client
    operations.delete_operation(operation.name)
    for _ in range(2):
        with refused("NOT_FOUND"):
            operations.get_operation(operation.name)
        assert list(operations.list_operations(LOCATION, "")) == []
        emulator.advance(60)
        emulator.parts.service.operations.finish_due(now=emulator.now)
    assert emulator.depth(queue) == 1


def test_queue_that_is_deleted_meanwhile_fails_the_rest_of_a_batch(emulate):
    emulator = emulate(rules=Rules(operation_s=60))
    queue = emulator.queue()
    operation = create(emulator, queue, [item(queue)])
    emulator.client.delete_queue(name=queue)
    emulator.advance(60)
    emulator.parts.service.operations.finish_due(now=emulator.now)
    done = emulator.client.get_operation({"name": operation.name})
    assert {s.code for s in told(Creates, done).failed_requests.values()} == {MISSING}


def test_results_are_bounded_and_the_oldest_goes_first():
    operations = Operations(most_bytes=100)
    for number in range(5):
        operations.add(f"{LOCATION}/operations/{number}", f"key-{number}", b"x" * 40)
    assert operations.names(LOCATION) == [f"{LOCATION}/operations/{n}" for n in (3, 4)]
    assert operations.started_by("key-0") is None


def test_waiting_for_an_operation_ends_with_it(emulate):
    emulator = emulate(rules=Rules(operation_s=5), frozen=False, speed=100.0, origin=None)
    queue = emulator.queue()
    operation = create(emulator, queue, [item(queue)])
    request = operations_pb2.WaitOperationRequest(name=operation.name)
    request.timeout.FromMilliseconds(100)
    method = "/google.longrunning.Operations/WaitOperation"

    async def wait() -> tuple[bytes, bytes]:
        too_short = await emulator.parts.handle(method, request.SerializeToString(), {})
        request.ClearField("timeout")
        waiting = asyncio.ensure_future(
            emulator.parts.handle(method, request.SerializeToString(), {})
        )
        await emulator.parts.clock.sleep(5)
        emulator.parts.service.operations.finish_due(now=emulator.now)
        return too_short, await waiting

    forms = asyncio.run(wait())
    assert [operations_pb2.Operation.FromString(form).done for form in forms] == [False, True]
