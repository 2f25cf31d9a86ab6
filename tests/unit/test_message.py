"""Records rendered into messages, and messages as bytes."""

import json

import pytest
from google.pubsub_v1.types import PublishRequest, PublishResponse, PubsubMessage
from hypothesis import given
from hypothesis import strategies as st

from injector.delivery.ports import Create, TaskTemplate
from injector.errors import Misused, Rejected
from injector.groups import Group
from injector.manifest import Record, compile_job, load_manifest
from injector.manifest.message import compile_message
from injector.naming import task_id
from injector.publish_wire import (
    MAX_REQUEST,
    message_bytes,
    message_ids,
    message_size,
    publish_request,
    request_size,
)

TOPIC = "projects/p/topics/users"
GROUP = Group("g", ("projects/p/locations/l/queues/i",), (), TOPIC)
HEAD = "job: j\ngroup: g\nrecords: r\n"
TEXTS = st.text(max_size=20)
ATTRIBUTES = st.dictionaries(TEXTS.filter(lambda name: name != "injector-id"), TEXTS, max_size=5)


def manifest(message="{}", extra=""):
    return load_manifest(f"{HEAD}message: {message}\n{extra}", source="m.yaml")


def publish(record, message="{}", extra=""):
    raw = record if isinstance(record, bytes) else json.dumps(record).encode()
    return compile_job(manifest(message, extra), GROUP).create(Record(0, 1, raw), now=0.0)


def as_message(create):
    return PubsubMessage.deserialize(message_bytes(create))


def test_data_is_the_record_byte_for_byte():
    raw = b'{ "id": 653247040368672768, "x": 1.0 }'
    assert as_message(publish(raw)).data == raw


@pytest.mark.parametrize(
    ("data", "sent"),
    [("none", b""), ("'hello {name}'", b"hello Ada"), ("{who: '{name}'}", b'{"who":"Ada"}')],
)
def test_data_may_be_nothing_a_text_or_json_of_ones_own(data, sent):
    assert as_message(publish({"name": "Ada"}, f"{{data: {data}}}")).data == sent


def test_attributes_are_filled_and_carry_the_id_that_a_task_would_have():
    made = publish(
        {"user": "u7", "kind": "new"},
        "{attributes: {kind: 'user.{kind}', fixed: x}}",
        "identity: {field: user}\n",
    )
    assert dict(as_message(made).attributes) == {
        "kind": "user.new",
        "fixed": "x",
        "injector-id": task_id("j", b"u7", "u7"),
    }


def test_message_without_data_still_has_its_id_and_so_is_never_empty():
    message = as_message(publish({}, "{data: none}"))
    assert message.data == b""
    assert message.attributes["injector-id"]


def test_redriven_message_keeps_the_id_of_the_job_that_it_is_named_after():
    first = compile_job(manifest(), GROUP).name(Record(0, 1, b"{}"))
    child = load_manifest(HEAD.replace("job: j", "job: k") + "message: {}\n", source="m.yaml")
    assert compile_job(child, GROUP, named_after="j").name(Record(0, 1, b"{}")) == first


def test_ordering_key_is_the_fields_text():
    made = publish({"user": 7}, "{ordering_key: {field: user}}")
    assert as_message(made).ordering_key == "7"


@pytest.mark.parametrize(
    ("record", "message", "reason"),
    [
        ({}, "{ordering_key: {field: user}}", "needs a value in 'user'"),
        ({"user": ""}, "{ordering_key: {field: user}}", "needs a value in 'user'"),
        ({"user": "ñ" * 513}, "{ordering_key: {field: user}}", "ordering key has 1026 bytes"),
        ({"a": "x" * 1025}, "{attributes: {b: '{a}'}}", "attribute b has 1025 bytes, over 1024"),
        ({"a": None}, "{attributes: {b: '{a}'}}", "needs a value in 'a'"),
        ({"a": "x"}, "{data: {b: '{c}'}}", "needs a value in 'c'"),
    ],
)
def test_record_that_cannot_be_published_is_rejected_with_its_reason(record, message, reason):
    with pytest.raises(Rejected, match=reason):
        publish(record, message)


@pytest.mark.parametrize(("over", "fits"), [(0, True), (1, False)])
def test_size_of_a_message_is_checked_to_the_byte(over, fits):
    made, message = publish({"a": "x" * 200}), manifest().message
    most = request_size(made) - over
    renderer = compile_message(message, "index", TOPIC, job="j", max_request=most)
    record = Record(0, 1, made.body)
    if fits:
        assert renderer.create(record, now=0.0) == made
    else:
        with pytest.raises(Rejected, match=f"has {most + 1} bytes with its attributes"):
            renderer.check(record, now=0.0)


def test_message_of_ten_megabytes_is_rejected():
    with pytest.raises(Rejected, match="over the 10000000 of a publish request"):
        publish(b'{"a":"' + b"x" * MAX_REQUEST + b'"}')


def test_group_and_manifest_have_the_same_destination():
    queues = Group("q", ("projects/p/locations/l/queues/i",), ("projects/p/locations/l/queues/q",))
    task = load_manifest(HEAD + "task: {http: {url: 'https://x.example/'}}\n", source="m.yaml")
    with pytest.raises(Misused, match="group q is one of queues, and the manifest has a message"):
        compile_job(manifest(), queues)
    with pytest.raises(Misused, match="group g is a topic, and the manifest has a task"):
        compile_job(task, GROUP)


def test_renderer_names_the_fields_that_records_need():
    fill = compile_job(
        manifest(
            "{data: {x: '{a}'}, attributes: {y: '{b}'}, ordering_key: {field: c}}",
            "identity: {field: d}\n",
        ),
        GROUP,
    )
    assert fill.fields == ("a", "b", "d", "c")


CREATES = st.builds(
    Create,
    queue=st.just(TOPIC),
    task_id=st.text(min_size=1, max_size=20),
    url=st.just(""),
    body=st.binary(max_size=300),
    headers=ATTRIBUTES.map(lambda pairs: tuple(pairs.items())),
    template=st.just(TaskTemplate()),
    ordering_key=TEXTS,
)


@given(st.lists(CREATES, max_size=4))
def test_bytes_are_those_of_the_real_messages(creates):
    real = PublishRequest(
        topic=TOPIC,
        messages=[
            PubsubMessage(
                data=create.body,
                attributes={**dict(create.headers), "injector-id": create.task_id},
                ordering_key=create.ordering_key,
            )
            for create in creates
        ],
    )
    written = publish_request(TOPIC, map(message_bytes, creates))
    assert PublishRequest.deserialize(written) == real
    overhead = len(publish_request(TOPIC, ()))
    assert len(written) == overhead + sum(map(message_size, creates))


@given(CREATES)
def test_size_of_a_request_is_that_of_its_bytes(create):
    assert request_size(create) == len(publish_request(TOPIC, [message_bytes(create)]))


@given(st.lists(st.text(alphabet="0123456789abc", min_size=1, max_size=200), max_size=5))
def test_ids_are_read_from_the_real_answer(ids):
    answer = PublishResponse.serialize(PublishResponse(message_ids=ids))
    assert message_ids(answer) == ids


@given(st.binary(max_size=50))
def test_no_answer_makes_the_reader_fail(answer):
    assert isinstance(message_ids(answer), list)
