"""Ordinary tasks go a short way; it must make the same of them as the long one."""

from itertools import count

import pytest
from google.api_core.exceptions import GoogleAPICallError
from google.cloud import tasks_v2
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.api import instants, messages, task_wire
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
    return task_wire.read(task.SerializeToString())


def created(task: messages.Task, view: int = 0, parent: str = QUEUE):
    create = messages.CreateTaskRequest(parent=parent, response_view=view)
    create.task.CopyFrom(task)
    return create


def batch_of(created_tasks, request_id: str = ""):
    batch = messages.BatchCreateTasksRequest(parent=QUEUE, request_id=request_id)
    for task, parent, view in created_tasks:
        batch.requests.add(parent=parent, response_view=view).task.CopyFrom(messages.Task(**task))
    return batch


def field(tag: int, value: bytes) -> bytes:
    return bytes([tag]) + task_wire.varint(len(value)) + value


def changed(draw, whole: bytes) -> bytes:
    """Return the bytes with a stretch of them taken out, replaced or repeated."""
    start, stop = sorted(draw(st.tuples(*[st.integers(0, len(whole))] * 2)))
    filled = st.binary(max_size=3) | st.just(whole[start:stop] * 2)
    return whole[:start] + draw(filled) + whole[stop:]


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


@given(task=tasks, view=st.integers(0, 3))
def test_create_is_read_as_its_task_is(task, view):
    message = messages.Task(**task)
    found = task_wire.read_create(created(message, view).SerializeToString())
    alone = ordinary(message)
    assert found == (None if alone is None or view > 2 else (QUEUE, alone, view or 1))


@given(
    st.lists(st.tuples(tasks, st.sampled_from(["", QUEUE]), st.integers(0, 2)), max_size=5),
    st.sampled_from(["", "id"]),
)
def test_batch_is_read_as_its_tasks_are(tasks_created, request_id):
    found = task_wire.read_batch(batch_of(tasks_created, request_id).SerializeToString())
    alone = [None if view else ordinary(messages.Task(**task)) for task, _, view in tasks_created]
    assert found == (QUEUE, request_id, alone)


@given(data=st.data(), task=tasks)
def test_create_of_any_bytes_is_read_as_protobuf_reads_it_or_not_at_all(data, task):
    whole = changed(data.draw, created(messages.Task(**task)).SerializeToString())
    found = task_wire.read_create(whole)
    if found is not None:
        known = messages.CreateTaskRequest.FromString(whole).SerializeToString()
        assert found == task_wire.read_create(known)


@given(data=st.data(), tasks_created=st.lists(st.tuples(tasks, st.just(QUEUE), st.just(0))))
def test_batch_of_any_bytes_is_read_as_protobuf_reads_it_or_not_at_all(data, tasks_created):
    whole = changed(data.draw, batch_of(tasks_created).SerializeToString())
    found = task_wire.read_batch(whole)
    if found is not None and None not in found[2]:
        known = messages.BatchCreateTasksRequest.FromString(whole).SerializeToString()
        assert found == task_wire.read_batch(known)


URL = field(0x0A, b"http://t.test/")
HEADER = field(0x1A, field(0x0A, b"A") + field(0x12, b"b"))


@pytest.mark.parametrize(
    ("request_fields", "is_ordinary"),
    [
        (URL + HEADER + field(0x22, b"x"), True),
        (URL + b"\x10\x01" + HEADER, True),
        (URL + b"\x10\x00", False),  # the default, written out
        (URL + field(0x22, b""), False),
        (URL + HEADER + HEADER, False),  # twice
        (URL + field(0x22, b"x") + field(0x22, b"y"), False),
        (URL + field(0x22, b"x") + HEADER, False),  # in another order
        (b"\x0a\x8e\x00http://t.test/", False),  # a length in more bytes than it needs
        (URL + field(0x1A, field(0x0A, b"\xff") + field(0x12, b"b")), False),  # no text
    ],
)
def test_task_is_ordinary_only_as_protobuf_writes_it(request_fields, is_ordinary):
    create = field(0x0A, QUEUE.encode()) + field(0x12, field(0x1A, request_fields))
    assert (task_wire.read_create(create) is not None) == is_ordinary


@pytest.mark.parametrize("unknown", ["request", "task", "create", "batch"])
def test_batch_of_a_newer_client_goes_the_long_way(unknown):
    batch = batch_of([({"http_request": {"url": "http://t.test/"}}, QUEUE, 0)])
    task = batch.requests[0].task
    parts = {"request": task.http_request, "task": task, "create": batch.requests[0]}
    parts.get(unknown, batch).MergeFromString(b"\xfa\x07\x02hi")
    found = task_wire.read_batch(batch.SerializeToString())
    assert found == (None if unknown == "batch" else (QUEUE, "", [None]))


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
    assert found[2].seconds == 1_800_000_000


@given(due=st.floats(0, 2.5e11), created=st.floats(0, 2.5e11))
def test_times_are_written_as_protobuf_writes_them(due, created):
    task = messages.Task()
    instants.write(task.schedule_time, due)
    task.create_time.seconds = int(created)
    task.dispatch_deadline.seconds = 600
    assert task_wire.times(due, created=created) == task.SerializeToString()


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
