"""Pub/Sub over the emulator's port, by the clients that people use."""

import threading
from contextlib import ExitStack
from queue import SimpleQueue

import grpc
import pytest
import requests
from google.api_core import exceptions
from google.cloud import pubsub_v1

from tests.emulator.live import Live, live_emulator
from tests.emulator.pubsub import SUBSCRIPTION, TOPIC, Port, clients_of
from tests.waiting import PATIENCE_S, until

ORDERED = "projects/p/subscriptions/ordered"


@pytest.fixture
def live():
    terms = f"{{topic: {TOPIC}}}"
    ordered = f"{{topic: {TOPIC}, enable_message_ordering: true}}"
    starts = (f"{SUBSCRIPTION}={terms}", f"{ORDERED}={ordered}")
    with live_emulator(topics=(TOPIC,), subscriptions=starts) as emulator:
        yield emulator


@pytest.fixture
def port(live: Live):
    with clients_of(live.running.port) as clients:
        yield clients


def plan(live: Live, **fault: object) -> None:
    requests.put(f"{live.url}/control/faults", json={"faults": [fault]}, timeout=PATIENCE_S)


def row(live: Live) -> dict:
    return requests.get(f"{live.url}/control/topics", timeout=PATIENCE_S).json()["topics"][0]


def collect(port: Port, count: int, name: str = SUBSCRIPTION) -> list[str]:
    """Receive so many messages by a streaming pull, each acknowledged."""
    seen, all_there = [], threading.Event()

    def receive(message) -> None:
        seen.append(message.data.decode())
        message.ack()
        if len(seen) >= count:
            all_there.set()

    with port.subscriber() as subscriber:
        pulling = subscriber.subscribe(name, receive)
        assert all_there.wait(PATIENCE_S), seen
        pulling.cancel()
        pulling.result(PATIENCE_S)
    return seen


def test_what_is_published_arrives_by_streaming_pull(live, port):
    sent = [f"m{number}" for number in range(2500)]
    publisher = port.publisher()
    futures = [publisher.publish(TOPIC, text.encode()) for text in sent]
    assert len({future.result(PATIENCE_S) for future in futures}) == 2500
    assert sorted(collect(port, 2500)) == sorted(sent)
    until(lambda: row(live)["subscriptions"][0]["acknowledged"] == 2500)


def test_keys_arrive_in_order(port):
    options = pubsub_v1.types.PublisherOptions(enable_message_ordering=True)
    publisher = port.publisher(publisher_options=options)
    sent = [f"{key}{number}" for number in range(50) for key in "ab"]
    for text in sent:
        publisher.publish(TOPIC, text.encode(), ordering_key=text[0])
    got = collect(port, 100, ORDERED)
    for key in "ab":
        assert [text for text in got if text[0] == key] == [t for t in sent if t[0] == key]


def test_a_pull_waits_for_the_first_message(port):
    subscriber, pulled = port.subscriber(), SimpleQueue()

    def pull() -> None:
        response = subscriber.pull(subscription=SUBSCRIPTION, max_messages=5, timeout=PATIENCE_S)
        pulled.put([each.message.data for each in response.received_messages])

    waiting = threading.Thread(target=pull)
    waiting.start()
    port.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
    waiting.join()
    assert pulled.get() == [b"x"]


def test_a_stream_of_no_subscription_ends_not_found(port):
    with port.subscriber() as subscriber:
        pulling = subscriber.subscribe("projects/p/subscriptions/nothing", lambda _: None)
        with pytest.raises(exceptions.NotFound, match="Resource not found"):
            pulling.result(PATIENCE_S)


def test_a_stream_that_breaks_is_taken_up_again(live, port):
    plan(live, effect="drop", methods=["StreamingPull"], times=1)
    port.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
    assert collect(port, 1) == ["x"]
    receipt = requests.get(f"{live.url}/control/faults", timeout=PATIENCE_S).json()
    assert [call["resource"] for call in receipt["calls"]] == [SUBSCRIPTION]


@pytest.mark.parametrize("effect", ["error", "drop"])
def test_a_publish_that_fails_is_sent_again_and_stored_once(live, port, effect):
    plan(live, effect=effect, methods=["Publish"], topic="*/topics/events", times=1)
    port.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
    assert row(live)["messages"] == 1
    assert row(live)["publishes"] == {"UNAVAILABLE": 1, "OK": 1}


@pytest.mark.parametrize("effect", ["lost", "drop_after"])
def test_an_answer_lost_after_the_store_makes_a_message_double(live, port, effect):
    plan(live, effect=effect, methods=["Publish"], times=1)
    port.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
    assert row(live)["messages"] == 2


def test_faults_of_one_topic_spare_others(live, port):
    plan(live, effect="error", methods=["Publish"], topic="*/topics/other")
    port.publisher().publish(TOPIC, b"x", retry=None).result(PATIENCE_S)
    assert row(live)["publishes"] == {"OK": 1}


@pytest.mark.parametrize(("effect", "stored"), [("delay", 0), ("late", 1)])
def test_a_publish_that_its_caller_gives_up_is_counted(live, port, effect, stored):
    plan(live, effect=effect, methods=["Publish"], latency={"fixed_s": 600})
    publish = port.channel().unary_unary("/google.pubsub.v1.Publisher/Publish")
    request = pubsub_v1.types.PublishRequest(topic=TOPIC, messages=[{"data": b"x"}])
    serialized = pubsub_v1.types.PublishRequest.serialize(request)
    calling = publish.future(serialized, metadata=(("x-goog-request-params", f"topic={TOPIC}"),))
    until(lambda: requests.get(f"{live.url}/control/faults", timeout=PATIENCE_S).json()["calls"])
    calling.cancel()
    until(lambda: row(live)["publishes"] == {"CANCELLED": 1})
    assert row(live)["messages"] == stored
    metrics = requests.get(f"{live.url}/metrics", timeout=PATIENCE_S).text
    assert 'pubsub_api_requests_total{code="CANCELLED"' in metrics
    assert 'latencies_seconds_count{response_code="CANCELLED",topic="' + TOPIC in metrics


def test_a_reset_leaves_no_topic_or_empties_them(live, port):
    port.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
    requests.post(f"{live.url}/control/reset?keep_queues=true", timeout=PATIENCE_S)
    assert [each["backlog"] for each in row(live)["subscriptions"]] == [0, 0]
    requests.post(f"{live.url}/control/reset", timeout=PATIENCE_S)
    assert requests.get(f"{live.url}/control/topics", timeout=PATIENCE_S).json() == {"topics": []}
    with pytest.raises(exceptions.NotFound):
        port.publisher().publish(TOPIC, b"x").result(PATIENCE_S)


def test_a_stopping_emulator_ends_streams():
    requests_of = SimpleQueue()
    first = pubsub_v1.types.StreamingPullRequest(
        subscription=SUBSCRIPTION, stream_ack_deadline_seconds=10
    )
    requests_of.put(pubsub_v1.types.StreamingPullRequest.serialize(first))
    with ExitStack() as stack:
        starts = {"topics": (TOPIC,), "subscriptions": (f"{SUBSCRIPTION}={{topic: {TOPIC}}}",)}
        with live_emulator(**starts) as live:
            port = stack.enter_context(clients_of(live.running.port))
            port.publisher().publish(TOPIC, b"x").result(PATIENCE_S)
            stream = port.channel().stream_stream("/google.pubsub.v1.Subscriber/StreamingPull")
            said = stream(iter(requests_of.get, None))
            assert next(said)
        assert said.code() is grpc.StatusCode.UNAVAILABLE
        requests_of.put(None)
