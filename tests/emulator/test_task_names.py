"""Task names: shapes, duplicates, reservations."""

import tracemalloc

import pytest
from google.cloud import tasks_v2

from injector.emulator.state.registry import Windows
from tests.emulator.direct import refused

LOCATION = "projects/p/locations/us-central1"


@pytest.mark.parametrize("task_id", ["x" * 500, "Given_name-1", "0"])
def test_id_may_hold_letters_digits_hyphens_and_underscores(direct, task_id):
    queue = direct.queue()
    assert direct.task(queue, task_id).name == f"{queue}/tasks/{task_id}"


@pytest.mark.parametrize("task_id", ["a b", "dot.ted", "x" * 501, "é", "名前", "a\0", "a\n"])
def test_bad_id_is_refused_with_a_link_to_the_rules(direct, task_id):
    queue = direct.queue()
    with pytest.raises(Exception, match="can contain only letters") as caught:
        direct.task(queue, task_id)
    assert "Task.FIELDS.name" in caught.value.details[0].links[0].url


@pytest.mark.parametrize("name", ["just-a-word", "{queue}/tasks/a/b", "junk/{queue}/tasks/t", "/"])
def test_name_of_the_wrong_shape_is_refused(direct, name):
    queue = direct.queue()
    task = {"name": name.format(queue=queue), "http_request": {"url": "http://x"}}
    with refused("INVALID_ARGUMENT", "Task name must be formatted"):
        direct.client.create_task(parent=queue, task=task)


def test_task_named_under_another_queue_is_refused(direct):
    queue, other = direct.queue("a"), direct.queue("b")
    text = (
        f"The queue name from request ('{queue}') must be the same as the queue name in the named "
        f"task ('{other}')."
    )
    task = {"name": f"{other}/tasks/t", "http_request": {"url": "http://x"}}
    with refused("INVALID_ARGUMENT", text):
        direct.client.create_task(parent=queue, task=task)
    assert direct.depth(other) == 0


@pytest.mark.parametrize("verb", ["get_task", "delete_task", "run_task"])
def test_task_that_never_was_is_not_found(direct, verb):
    queue = direct.queue()
    with refused("NOT_FOUND", "Requested entity was not found."):
        getattr(direct.client, verb)(name=f"{queue}/tasks/none")


@pytest.mark.parametrize("verb", ["get_task", "delete_task", "run_task"])
def test_task_that_was_deleted_is_told_from_one_that_never_was(direct, verb):
    queue = direct.queue()
    name = direct.task(queue, "t").name
    direct.client.delete_task(name=name)
    with refused("NOT_FOUND", "The task no longer exists, though a task with this name existed"):
        getattr(direct.client, verb)(name=name)


def test_task_in_a_missing_queue_is_not_found(direct):
    with refused("NOT_FOUND", "Queue does not exist."):
        direct.task(f"{LOCATION}/queues/none")


def test_name_of_a_waiting_task_is_taken(direct):
    queue = direct.queue()
    direct.task(queue, "t")
    with refused("ALREADY_EXISTS", "Requested entity already exists"):
        direct.task(queue, "t")
    assert direct.depth(queue) == 1


@pytest.mark.parametrize("end", ["succeeded", "given up", "deleted"])
def test_name_stays_reserved_for_its_window_however_the_task_ended(emulate, end):
    emulator = emulate(windows=Windows(task_s=3600))
    queue = emulator.queue(retry_config={"max_attempts": 1})
    name = emulator.task(queue, "t").name
    if end == "deleted":
        emulator.client.delete_task(name=name)
    else:
        emulator.end(emulator.due()[0], 200 if end == "succeeded" else 500)
    emulator.advance(3599)
    with refused("ALREADY_EXISTS", "a task with this name existed too recently"):
        emulator.task(queue, "t")
    emulator.advance(1)
    assert emulator.task(queue, "t").name == name


def test_reservations_that_are_over_are_forgotten(direct):
    queue = direct.queue()
    for task_id in ("a", "b"):
        direct.client.delete_task(name=direct.task(queue, task_id).name)
    direct.advance(25 * 3600)
    registry = direct.parts.service.registry
    registry.expire(now=direct.now)
    assert not registry.queues[queue].names.was_there("a", now=0)


def test_task_is_dropped_after_31_days(direct):
    queue = direct.queue()
    direct.client.pause_queue(name=queue)
    direct.task(queue, "old")
    direct.advance(86400)
    direct.task(queue, "young")
    direct.advance(30 * 86400)
    direct.parts.service.registry.expire(now=direct.now)
    names = [task.name.rpartition("/")[2] for task in direct.client.list_tasks(parent=queue)]
    assert names == ["young"]


def test_list_pages_through_all_tasks_while_some_come_and_go(direct):
    queue = direct.queue()
    names = [direct.task(queue, f"t{i}").name for i in range(7)]
    request = {"parent": queue, "page_size": 3}
    first = next(iter(direct.client.list_tasks(request=request).pages))
    direct.client.delete_task(name=names[4])
    direct.task(queue, "late")
    rest = direct.client.list_tasks(request={**request, "page_token": first.next_page_token})
    listed = [task.name for task in [*first.tasks, *rest]]
    assert listed == [*names[:4], *names[5:], f"{queue}/tasks/late"]


def test_page_holds_at_most_a_thousand_tasks(direct):
    queue = direct.queue()
    for _ in range(1001):
        direct.task(queue)
    page = next(iter(direct.client.list_tasks(request={"parent": queue, "page_size": 5000}).pages))
    assert len(page.tasks) == 1000
    assert page.next_page_token


def test_page_of_large_tasks_fits_what_a_channel_takes(direct):
    queue = direct.queue()
    large = {"url": "http://x", "body": b"x" * 1_048_000}
    made = [direct.task(queue, http_request=large).name for _ in range(7)]
    found = []
    for page in direct.client.list_tasks(request={"parent": queue, "response_view": "FULL"}).pages:
        assert len(tasks_v2.ListTasksResponse.serialize(page)) < 4 * 1024 * 1024
        found += [task.name for task in page.tasks]
    assert found == made
    (page,) = direct.client.list_tasks(request={"parent": queue}).pages
    assert [task.name for task in page.tasks] == made


@pytest.mark.parametrize("size", [-1])
def test_negative_page_size_is_refused(direct, size):
    queue = direct.queue()
    with refused("INVALID_ARGUMENT", "page_size"):
        direct.client.list_tasks(request={"parent": queue, "page_size": size})


def test_waiting_task_of_200_bytes_takes_less_than_two_kilobytes(direct):
    queue = direct.queue()
    direct.client.pause_queue(name=queue)
    request = {"url": "http://target.test/users/1", "body": b"x" * 200}
    direct.task(queue, http_request=request)
    tracemalloc.start()
    for number in range(2000):
        direct.task(queue, f"{number:032x}", http_request=request)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 2000 < 2000
