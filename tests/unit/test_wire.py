"""Hand-written protobuf against the real messages."""

import pytest
from google.cloud import tasks_v2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from injector.delivery.ports import Create, TaskTemplate, Token
from injector.wire import METHODS, create_task_request, task_size

QUEUE = "projects/p/locations/l/queues/q"
TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=200)
MICROS = st.integers(0, 253_402_300_799_999_999)

templates = st.builds(
    TaskTemplate,
    method=st.sampled_from(sorted(METHODS)),
    headers=st.dictionaries(st.sampled_from(["X-A", "X-B", "user-agent"]), TEXT).map(
        lambda headers: tuple(headers.items())
    ),
    token=st.none()
    | st.builds(Token, st.sampled_from(["oidc", "oauth"]), TEXT, st.text(max_size=50)),
    dispatch_deadline_s=st.none() | st.integers(15_000_000, 1_800_000_000).map(lambda n: n / 1e6),
)
creates = st.builds(
    Create,
    queue=st.just(QUEUE),
    task_id=st.text("abcdef0123456789-_", min_size=1, max_size=500),
    url=TEXT,
    body=st.binary(max_size=40_000),
    headers=st.dictionaries(st.sampled_from(["Y-A", "Y-B"]), TEXT).map(
        lambda headers: tuple(headers.items())
    ),
    schedule_time=st.none() | MICROS.map(lambda micros: micros / 1e6),
    template=templates,
)


def message(create: Create) -> tasks_v2.CreateTaskRequest:
    template = create.template
    http = {
        "url": create.url,
        "http_method": tasks_v2.HttpMethod[template.method],
        "headers": dict((*template.headers, *create.headers)),
        "body": create.body,
    }
    if template.token and template.token.kind == "oidc":
        http["oidc_token"] = {
            "service_account_email": template.token.service_account,
            "audience": template.token.scope,
        }
    elif template.token:
        http["oauth_token"] = {
            "service_account_email": template.token.service_account,
            "scope": template.token.scope,
        }
    task = {"name": f"{QUEUE}/tasks/{create.task_id}", "http_request": http}
    if create.schedule_time is not None:
        task["schedule_time"] = moment(Timestamp, create.schedule_time)
    if template.dispatch_deadline_s is not None:
        task["dispatch_deadline"] = moment(Duration, template.dispatch_deadline_s)
    return tasks_v2.CreateTaskRequest(parent=QUEUE, task=task)


def moment(kind, seconds):
    whole, micros = divmod(round(seconds * 1e6), 1_000_000)
    return kind(seconds=whole, nanos=micros * 1000)


def stored(create: Create) -> tasks_v2.Task:
    """Add what the service adds, times of its own in their longest form."""
    longest = Timestamp(seconds=2**32 - 1, nanos=999_999_999)
    task = tasks_v2.Task.pb(message(create).task)
    if not any(name.lower() == "user-agent" for name in task.http_request.headers):
        task.http_request.headers["User-Agent"] = "Google-Cloud-Tasks"
    if task.http_request.HasField("oidc_token") and not task.http_request.oidc_token.audience:
        task.http_request.oidc_token.audience = create.url
    if create.schedule_time is None:
        task.schedule_time.CopyFrom(longest)
    if create.template.dispatch_deadline_s is None:
        task.dispatch_deadline.CopyFrom(Duration(seconds=600))
    task.create_time.CopyFrom(longest)
    task.view = tasks_v2.Task.View.FULL
    return task


@given(creates)
def test_request_reads_back_as_the_message_of_the_real_client(create):
    written = create_task_request(create)
    expected = message(create)
    assert tasks_v2.CreateTaskRequest.deserialize(written) == expected
    assert len(written) == len(tasks_v2.CreateTaskRequest.serialize(expected))


@given(creates)
def test_size_is_that_of_the_stored_task(create):
    assert task_size(create) == len(stored(create).SerializeToString())


@pytest.mark.parametrize("body", [bytes(range(256)), "ñ☃".encode(), b'{"a":"\xc3\xa9"}', b""])
def test_body_is_carried_byte_for_byte(body):
    written = create_task_request(Create(QUEUE, "t", "https://t.example/", body))
    assert tasks_v2.CreateTaskRequest.deserialize(written).task.http_request.body == body


@pytest.mark.parametrize("letter", ["é", "😀"])
def test_size_counts_bytes_and_not_characters(letter):
    small = Create(QUEUE, "t", "https://t.example/", b"")
    large = Create(QUEUE, "t", "https://t.example/", letter.encode() * 90_000)
    assert task_size(large) - task_size(small) >= len(letter.encode()) * 90_000
