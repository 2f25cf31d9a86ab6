"""Ordinary tasks go a short way; it must make the same of them as the long one."""

from itertools import count

import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import tasks_v2
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.api import messages, task_wire
from injector.emulator.api.service import Rules
from tests.emulator.direct import START, Direct, direct_emulator, refused

FULL = tasks_v2.Task.View.FULL
NUMBERS = count()
QUEUE = "projects/p/locations/us-central1/queues/q"
_LONG = ["http://" + "x" * length for length in (2076, 2077)]

names = st.sampled_from(["X-A", "x-b", "Content-Type", "User-Agent", "Host", "X-CloudTasks-X", ""])
tokens = st.fixed_dictionaries(
    {"service_account_email": st.sampled_from(["a@b.test", 'a"\x01x', ""])},
    optional={"audience": st.sampled_from(["https://aud.test", 'a"\x01x'])},
)
urls = st.sampled_from(["http://t.test/", "https://t.test/é", "ftp://t", "", *_LONG])
requests = st.fixed_dictionaries(
    {"url": urls},
    optional={
        "http_method": st.integers(0, 8) | st.sampled_from([128, 3328, 3455, 2**31 - 1, -1]),
        "headers": st.dictionaries(names, st.text("ab\x22\x01é", max_size=200), max_size=3),
        "body": st.sampled_from([b"", b"x", b'"\x01x', b"y" * 127, b"y" * 128, b"y" * 20_000]),
        "oidc_token": tokens,
    },
)
tasks = st.fixed_dictionaries(
    {"http_request": requests},
    optional={
        "schedule_time": st.fixed_dictionaries(
            {},
            optional={
                "seconds": st.sampled_from([0, int(START), int(START) + 50, int(START) + 2**31]),
                "nanos": st.sampled_from([0, 1, 999, 1000, 123_456_789, -1]),
            },
        ),
        "dispatch_deadline": st.fixed_dictionaries({"seconds": st.sampled_from([0, 15, 14, 600])}),
        "retry_config": st.fixed_dictionaries({"max_attempts": st.integers(-1, 3)}),
    },
)


@pytest.fixture(scope="module")
def emulator():
    with direct_emulator() as emulator:
        emulator.client.pause_queue(name=emulator.queue())
        yield emulator


def ordinary(task: messages.Task):
    whole = task.SerializeToString()
    return task_wire.read(whole, 0, len(whole))


def made(emulator: Direct, task: messages.Task, task_id: str):
    """Return what became of a task: its answers, and its stored form, or how it was refused."""
    if task_id:
        task.name = f"{QUEUE}/tasks/{task_id}"
    request = tasks_v2.CreateTaskRequest(parent=QUEUE)
    tasks_v2.CreateTaskRequest.pb(request).task.CopyFrom(task)
    try:
        answer = emulator.client.create_task(request)
    except GoogleAPICallError as error:
        return error.message
    stored = emulator.client.get_task(request={"name": answer.name, "response_view": FULL})
    form = (
        emulator.parts.service.registry.queues[QUEUE]
        .names.task(answer.name.rpartition("/")[2])
        .form
    )
    emulator.client.delete_task(name=answer.name)
    answer.name = stored.name = ""
    return answer, stored, len(form), messages.Task.FromString(form).schedule_time


@given(task=tasks, is_named=st.booleans())
def test_both_ways_make_the_same_task(emulator, task, is_named):
    short = messages.Task(**task)
    long = messages.Task(dispatch_count=1, **task)  # output only: dropped, and not ordinary
    assert ordinary(long) is None
    ids = (f"{next(NUMBERS):019}", f"{next(NUMBERS):019}") if is_named else ("", "")
    assert made(emulator, short, ids[0]) == made(emulator, long, ids[1])


@given(st.lists(st.tuples(tasks, st.sampled_from(["", QUEUE]), st.integers(0, 2)), max_size=5))
def test_batch_is_read_as_its_tasks_are(created):
    batch = messages.BatchCreateTasksRequest(parent=QUEUE)
    for task, parent, view in created:
        batch.requests.add(parent=parent, response_view=view).task.CopyFrom(messages.Task(**task))
    found = task_wire.read_batch(batch.SerializeToString(), QUEUE, len(created))
    alone = [None if view else ordinary(messages.Task(**task)) for task, _, view in created]
    assert found == alone


@pytest.mark.parametrize("unknown", ["request", "task", "create", "batch"])
def test_batch_of_a_newer_client_goes_the_long_way_or_is_read_alike(unknown):
    batch = messages.BatchCreateTasksRequest(parent=QUEUE)
    task = batch.requests.add(parent=QUEUE).task
    task.http_request.url = "http://t.test/"
    known = task_wire.read_batch(batch.SerializeToString(), QUEUE, 1)
    parts = {"request": task.http_request, "task": task, "create": batch.requests[0]}
    parts.get(unknown, batch).MergeFromString(b"\xfa\x07\x02hi")
    found = task_wire.read_batch(batch.SerializeToString(), QUEUE, 1)
    assert found == (known if unknown == "batch" else [None])


@pytest.mark.parametrize("method", [128, 3328, 3455, 2**31 - 1, -1])
def test_task_with_a_number_that_no_method_has_goes_the_long_way(method):
    request = messages.HttpRequest(url="http://t.test/")
    request.http_method = method
    assert ordinary(messages.Task(http_request=request)) is None


@pytest.mark.parametrize("size", [1, 126, 300])
def test_time_of_a_newer_client_is_read_as_what_is_known_of_it(size):
    schedule = messages.Timestamp(seconds=1_800_000_000)
    schedule.MergeFromString(b"\xfa\x07" + task_wire.varint(size) + b"x" * size)
    request = {"url": "http://t.test/"}
    found = ordinary(messages.Task(http_request=request, schedule_time=schedule))
    assert task_wire.schedule_of(found[3]).seconds == 1_800_000_000


@pytest.mark.parametrize("body", [b"", b"x" * 300])
def test_ordinary_task_goes_the_short_way(body):
    request = {"url": "http://t.test/", "headers": {"A": "b"}, "body": body}
    assert ordinary(messages.Task(name="n" * 200, http_request=request))


def test_limit_of_a_task_holds_to_the_byte(emulate):
    request = {"url": "http://t.test/", "body": b"x" * 3000}
    plain = emulate()
    task = plain.task(plain.queue(), "t", http_request=request)
    size = len(plain.parts.service.registry.queues[plain.due()[0][0].name].names.task("t").form)
    assert task.name
    for limit, code in ((size, ""), (size - 1, "INVALID_ARGUMENT")):
        emulator = emulate(rules=Rules(max_task_bytes=limit))
        queue = emulator.queue()
        if not code:
            emulator.task(queue, "t", http_request=request)
            continue
        with refused(code, "Task size too large."):
            emulator.task(queue, "t", http_request=request)
