"""No input ends the process, and none is answered INTERNAL."""

import asyncio
from functools import cache
from inspect import isawaitable

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.api.methods import METHODS
from injector.emulator.assembly import assemble
from injector.emulator.dispatch.requests import Requests
from injector.emulator.dispatch.tokens import Issuer
from injector.emulator.options import Options
from injector.emulator.pubsub import messages as pubsub_messages
from injector.emulator.pubsub.methods import PUBLISHER, SUBSCRIBER
from injector.emulator.rpc import Code, RpcError
from injector.emulator.state.task import Outcome
from injector.emulator.telemetry import log_entries, time_series
from tests.emulator.fuzzing import tried
from tests.emulator.pubsub import SUBSCRIPTION, TOPIC

LOCATION = "projects/p/locations/us-central1"
QUEUE = f"{LOCATION}/queues/q"
TASKS = "/google.cloud.tasks.v2.CloudTasks/"
GOOD = {
    "parent": [QUEUE, LOCATION],
    "resource": [QUEUE],
    "url": ["http://127.0.0.1:9/x", "https://h"],
    "relative_uri": ["/x", ""],
    "names": [f"{QUEUE}/tasks/t"],
    "paths": [
        "rate_limits",
        "http_target.uri_override",
        "retry_config.min_backoff",
        "*",
        "labels",
        "ack_deadline_seconds",
    ],
    "filter": ["state: PAUSED", "rate_limits.max_dispatches_per_second > 1", "NOT (name:q)"],
    "Task.name": [f"{QUEUE}/tasks/new", f"{QUEUE}/tasks/t", ""],
    "Queue.name": [QUEUE, f"{LOCATION}/queues/new"],
    "CmekConfig.name": [f"{LOCATION}/cmekConfig"],
    "GetCmekConfigRequest.name": [f"{LOCATION}/cmekConfig"],
    "ListLocationsRequest.name": ["projects/p"],
    "GetLocationRequest.name": [LOCATION],
    "ListOperationsRequest.name": [LOCATION],
    "Topic.name": [TOPIC, "projects/p/topics/new"],
    "Subscription.name": [SUBSCRIPTION, "projects/p/subscriptions/new"],
    "topic": [TOPIC],
    "subscription": [SUBSCRIPTION],
    "project": ["projects/p"],
    "ListTimeSeriesRequest.name": ["projects/p"],
    "ListTimeSeriesRequest.filter": [
        'metric.type = "cloudtasks.googleapis.com/queue/depth"',
        'metric.type = "cloudtasks.googleapis.com/queue/task_attempt_count"',
        'metric.type = "pubsub.googleapis.com/topic/send_request_count"',
    ],
    "resource_names": ["projects/p"],
    "ack_ids": ["1", "none"],
    "name": [QUEUE, f"{QUEUE}/tasks/t", f"{LOCATION}/operations/{{operation}}"],
}
"""Names that mean something, for the fields of these names."""
NAMING = ("name", "parent", "resource", "queue", "task", "url", "requests")
NAMING += ("topic", "subscription", "project", "messages", "max_messages", "return_immediately")
ODD = [f"{QUEUE}/tasks/{'x' * 501}", "projects/p", "(" * 60, "a.b.c", "é\0", ""]
TEXTS = st.text(max_size=20) | st.sampled_from(ODD)
STREAMING_PULL = SUBSCRIBER + "StreamingPull"
INTEGERS = st.sampled_from([0, 1, -1, 2, 5, 101, 3328, 2**31 - 1, -(2**31)])
LARGE = INTEGERS | st.sampled_from([2**63 - 1, -(2**63), 4102444800])
SCALARS = {
    FieldDescriptor.TYPE_STRING: TEXTS,
    FieldDescriptor.TYPE_BYTES: st.binary(max_size=20),
    FieldDescriptor.TYPE_BOOL: st.booleans(),
    FieldDescriptor.TYPE_DOUBLE: st.floats() | st.sampled_from([0.1, 500.0, -1.0]),
    FieldDescriptor.TYPE_FLOAT: st.floats(width=32),
    FieldDescriptor.TYPE_INT64: LARGE,
    FieldDescriptor.TYPE_ENUM: INTEGERS,
}


@cache
def fields_of(kind, depth: int):
    """Return a strategy of a message's fields as keyword arguments.

    Those that name things are always there, or few requests would get past the first check.
    """
    named, other = {}, {}
    for field in kind.DESCRIPTOR.fields:
        values = values_of(kind, field, depth)
        if values is not None:
            (named if field.name in NAMING else other)[field.name] = values
    return st.fixed_dictionaries(named, optional=other)


def values_of(kind, field, depth: int):
    if field.name == "return_immediately":
        return st.just(value=True)  # or a pull waits for 90 s
    if field.message_type is None:
        good = texts_of(kind, field)
        values = SCALARS.get(field.type, INTEGERS) if good is None else good
        return st.lists(values, max_size=3) if field.is_repeated else values
    if depth == 0:
        return None
    if field.message_type.GetOptions().map_entry:
        is_text = field.message_type.fields_by_name["value"].message_type is None
        return st.dictionaries(TEXTS, TEXTS, max_size=3) if is_text else None
    values = fields_of(class_of(kind, field), depth - 1)
    return st.lists(values, max_size=3) if field.is_repeated else values


def texts_of(kind, field):
    """Return mostly good texts for a field of a known name."""
    good = GOOD.get(f"{kind.DESCRIPTOR.name}.{field.name}") or GOOD.get(field.name)
    if good is None or field.type != FieldDescriptor.TYPE_STRING:
        return None
    good = [text.format(operation=OPERATION) for text in good]
    return st.sampled_from(good * 6 + ODD)


def class_of(kind, field):
    message = kind()
    value = getattr(message, field.name)
    return type(value.add()) if field.is_repeated else type(value)


def emulator():
    """Return an emulator with a queue, a task, an operation, and a subscribed topic."""
    parts = assemble(Options(frozen=True, origin=1_800_000_000.0))
    task = {"name": f"{QUEUE}/tasks/t", "http_request": {"url": "http://127.0.0.1:9/"}}
    for method, fields in (
        ("CreateQueue", {"parent": LOCATION, "queue": {"name": QUEUE}}),
        ("BatchCreateTasks", {"parent": QUEUE, "requests": [{"parent": QUEUE, "task": task}]}),
    ):
        request = METHODS[TASKS + method].request(**fields)
        assert ask(parts, TASKS + method, request.SerializeToString()) is Code.OK
    for method, fields in (
        (PUBLISHER + "CreateTopic", {"name": TOPIC}),
        (SUBSCRIBER + "CreateSubscription", {"name": SUBSCRIPTION, "topic": TOPIC}),
        (PUBLISHER + "Publish", {"topic": TOPIC, "messages": [{"data": b"x"}]}),
    ):
        request = parts.pubsub.methods[method].request(**fields)
        assert ask(parts, method, request.SerializeToString()) is Code.OK
    return parts


def ask(parts, method: str, request: bytes) -> Code:
    try:
        answer = parts.handle(method, request, {})
        if isawaitable(answer):
            asyncio.run(_wait(answer))
    except RpcError as error:
        return error.code
    return Code.OK


async def _wait(answer):
    return await answer


OPERATION = emulator().service.operations.names(LOCATION)[0].rpartition("/")[2]
EVERY = {
    **METHODS,
    **emulator().pubsub.methods,
    **time_series.methods(emulator().metrics),
    **log_entries.methods(emulator().log),
}


@pytest.mark.parametrize("method", sorted(EVERY))
@tried(100)
@given(data=st.data())
def test_no_request_is_answered_internal(method, data):
    kind = EVERY[method].request
    parts = emulator()
    for fields in data.draw(st.lists(fields_of(kind, 4), min_size=1, max_size=3)):
        assert ask(parts, method, kind(**fields).SerializeToString()) is not Code.INTERNAL


@pytest.mark.parametrize("method", sorted(EVERY))
@tried(25)
@given(request=st.binary(max_size=200))
def test_no_bytes_are_answered_internal(method, request):
    assert ask(emulator(), method, request) is not Code.INTERNAL


async def talk(parts, requests: list[bytes]) -> Code:
    """Say these things in a StreamingPull, then no more; return how it ended."""

    async def said():
        for request in requests:
            yield request

    try:
        async for _ in parts.pubsub.streams[STREAMING_PULL](said(), {}):
            await asyncio.sleep(0)
    except RpcError as error:
        return error.code
    return Code.OK


@tried(300)
@given(data=st.data())
def test_no_streaming_pull_breaks(data):
    kind = pubsub_messages.StreamingPullRequest
    first = {"subscription": SUBSCRIPTION, "stream_ack_deadline_seconds": 10}
    more = data.draw(st.lists(fields_of(kind, 2) | st.just(first), max_size=4))
    requests = [kind(**fields).SerializeToString() for fields in [first, *more]]
    requests += data.draw(st.lists(st.binary(max_size=30), max_size=2))
    requests = data.draw(st.sampled_from([requests, requests[1:]]))
    assert asyncio.run(talk(emulator(), requests)) is not Code.INTERNAL


@tried(200)
@given(data=st.data())
def test_every_task_that_is_stored_can_be_shown_and_sent(data):
    method = TASKS + "CreateTask"
    kind = METHODS[method].request
    parts = emulator()
    registry = parts.service.registry
    fields = data.draw(fields_of(class_of(kind, kind.DESCRIPTOR.fields_by_name["task"]), 3))
    ask(parts, method, kind(parent=QUEUE, task=fields).SerializeToString())
    parts.clock.advance(31 * 86400)
    requests = Requests(Issuer("https://issuer.test"), "http://127.0.0.1:9")
    for queue, attempt in registry.take_due(now=parts.clock.now()):
        requests.build(attempt, parts.service.configs[queue.name], now=parts.clock.now())
        registry.settle(queue, attempt, Outcome(503), now=parts.clock.now())
    listing = METHODS[TASKS + "ListTasks"].request(parent=QUEUE)
    shown = ask(parts, TASKS + "ListTasks", listing.SerializeToString())
    assert shown is Code.OK


@tried(50)
@given(method=st.text(max_size=30), request=st.binary(max_size=50))
def test_unknown_method_is_unimplemented(method, request):
    assert ask(emulator(), f"/{method}", request) is Code.UNIMPLEMENTED
