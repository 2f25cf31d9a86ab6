"""Topics, subscriptions and publishing, by the raw client in frozen time."""

import pytest

from tests.emulator.direct import START, Direct, refused
from tests.emulator.pubsub import SUBSCRIPTION, TOPIC, Clients, direct_clients

OTHER = "projects/p/topics/other"


@pytest.fixture
def clients(direct: Direct) -> Clients:
    return direct_clients(direct.parts)


def test_a_topic_is_made_once_found_listed_and_deleted(clients):
    assert clients.topic(labels={"team": "a"}) == TOPIC
    with refused("ALREADY_EXISTS", "Resource already exists in the project (resource=events)."):
        clients.topic()
    assert dict(clients.publisher.get_topic(topic=TOPIC).labels) == {"team": "a"}
    clients.topic(OTHER)
    clients.topic("projects/other/topics/events")
    listed = clients.publisher.list_topics(request={"project": "projects/p", "page_size": 1})
    assert [topic.name for topic in listed] == [TOPIC, OTHER]
    clients.publisher.delete_topic(topic=TOPIC)
    with refused("NOT_FOUND", "Resource not found (resource=events)."):
        clients.publisher.get_topic(topic=TOPIC)


@pytest.mark.parametrize(
    "name",
    ["events", "projects/p/topics/ab", "projects/p/topics/googly", "projects/p/topics/1abc"],
)
def test_a_topic_of_a_bad_name_is_refused(clients, name):
    with refused("INVALID_ARGUMENT", f"Invalid [topics] name: (name={name})"):
        clients.topic(name)


def test_the_fields_of_a_mask_change_and_others_stay(clients):
    clients.topic(labels={"a": "1"}, kms_key_name="k")
    update = {"topic": {"name": TOPIC, "labels": {"b": "2"}}, "update_mask": {"paths": ["labels"]}}
    changed = clients.publisher.update_topic(request=update)
    assert (dict(changed.labels), changed.kms_key_name) == ({"b": "2"}, "k")
    with refused("INVALID_ARGUMENT"):
        clients.publisher.update_topic(request={"topic": {"name": TOPIC}})
    with refused("INVALID_ARGUMENT"):
        clients.publisher.update_topic(topic={"name": TOPIC}, update_mask={"paths": ["name"]})


@pytest.mark.parametrize(
    ("field", "value", "what"),
    [
        ("schema_settings", {"schema": "projects/p/schemas/s"}, "schemas"),
        ("ingestion_data_source_settings", {"aws_kinesis": {"stream_arn": "a"}}, "ingestion"),
        ("message_transforms", [{"javascript_udf": {"function_name": "f"}}], "transforms"),
    ],
)
def test_a_topic_that_would_do_what_is_not_emulated_is_refused(clients, field, value, what):
    with refused("UNIMPLEMENTED", what):
        clients.topic(OTHER, **{field: value})
    clients.topic()
    with refused("UNIMPLEMENTED", what):
        clients.publisher.update_topic(
            topic={"name": TOPIC, field: value}, update_mask={"paths": [field]}
        )
    assert not getattr(clients.publisher.get_topic(topic=TOPIC), field)


def test_each_subscription_gets_each_message_with_id_time_and_attributes(clients):
    clients.topic()
    clients.subscription()
    clients.subscription("projects/p/subscriptions/events-b")
    sent = [{"data": b"x", "attributes": {"a": "1"}}, {"data": b"y"}]
    ids = list(clients.publisher.publish(topic=TOPIC, messages=sent).message_ids)
    for name in (SUBSCRIPTION, "projects/p/subscriptions/events-b"):
        got = [each.message for each in clients.pull(subscription=name)]
        assert [message.message_id for message in got] == ids
        assert [dict(message.attributes) for message in got] == [{"a": "1"}, {}]
        assert {message.publish_time.timestamp() for message in got} == {START}
    assert len(set(ids)) == 2


def test_a_subscription_gets_nothing_that_was_published_before_it(clients):
    clients.topic()
    clients.publish("early")
    clients.subscription()
    clients.publish("late")
    assert clients.texts() == ["late"]


def test_a_publish_to_no_topic_is_not_found(clients):
    with refused("NOT_FOUND", "Resource not found (resource=events)."):
        clients.publish("x")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ([], "The value for message_count is too small. You passed 0"),
        ([{"data": b"x"}] * 1001, "You passed 1001 in the request, but the maximum value is 1000."),
        ([{"data": b"x"}, {}], "One or more messages in the publish request is empty."),
        ([{"ordering_key": "k"}], "One or more messages in the publish request is empty."),
        ([{"data": bytes(10_000_000)}], "The value for request_size is too large."),
        ([{"attributes": {f"k{n}": "v" for n in range(101)}}], "attribute_count is too large"),
        ([{"attributes": {"k" * 257: "v"}}], "attribute_key_size is too large"),
        ([{"attributes": {"k": "v" * 1025}}], "attribute_value_size is too large"),
        ([{"attributes": {"googclient": "v"}}], "'googclient' is not valid"),
        ([{"attributes": {"": "v"}}], "'' is not valid"),
        ([{"data": b"x", "ordering_key": "k" * 1025}], "ordering_key is too large"),
    ],
)
def test_a_publish_beyond_a_limit_is_refused_as_a_whole(clients, sent, message):
    clients.topic()
    clients.subscription()
    with refused("INVALID_ARGUMENT", message):
        clients.publisher.publish(topic=TOPIC, messages=sent)
    assert clients.texts() == []


@pytest.mark.parametrize(
    "sent",
    [
        [{"data": b"x"}] * 1000,
        [{"data": bytes(9_999_900)}],
        [{"attributes": {f"k{n}": "v" for n in range(100)}}],
        [{"attributes": {"k" * 256: "v" * 1024}}],
        [{"data": b"x", "ordering_key": "k" * 1024}],
        [{"attributes": {"googclient_traceparent": "00-1-2-01"}}],
    ],
)
def test_a_publish_at_a_limit_is_taken(clients, sent):
    clients.topic()
    assert len(clients.publisher.publish(topic=TOPIC, messages=sent).message_ids) == len(sent)


def test_a_deleted_topic_leaves_its_subscriptions_what_they_hold(clients):
    clients.topic()
    clients.subscription()
    clients.publish("kept")
    clients.publisher.delete_topic(topic=TOPIC)
    left = clients.subscriber.get_subscription(subscription=SUBSCRIPTION)
    assert (left.topic, clients.texts()) == ("_deleted-topic_", ["kept"])
    clients.topic()
    clients.publish("of another topic")
    assert clients.texts() == []


def test_subscriptions_are_listed_by_project_and_by_topic(clients):
    clients.topic()
    clients.topic(OTHER)
    clients.subscription("projects/p/subscriptions/one")
    clients.subscription("projects/p/subscriptions/two", OTHER)
    listed = clients.subscriber.list_subscriptions(project="projects/p")
    assert [each.name.rpartition("/")[2] for each in listed] == ["one", "two"]
    of_topic = list(clients.publisher.list_topic_subscriptions(topic=OTHER))
    assert of_topic == ["projects/p/subscriptions/two"]


def test_a_subscription_is_made_once_and_deleted(clients):
    clients.topic()
    made = clients.subscriber.create_subscription(name=SUBSCRIPTION, topic=TOPIC)
    assert (made.ack_deadline_seconds, made.message_retention_duration.days) == (10, 7)
    with refused("ALREADY_EXISTS"):
        clients.subscription()
    clients.subscriber.delete_subscription(subscription=SUBSCRIPTION)
    with refused("NOT_FOUND", "Resource not found (resource=events-a)."):
        clients.pull()


@pytest.mark.parametrize(
    ("terms", "code"),
    [
        ({"ack_deadline_seconds": 9}, "INVALID_ARGUMENT"),
        ({"ack_deadline_seconds": 601}, "INVALID_ARGUMENT"),
        ({"message_retention_duration": {"seconds": 599}}, "INVALID_ARGUMENT"),
        ({"push_config": {"push_endpoint": "https://x.example"}}, "UNIMPLEMENTED"),
        ({"filter": "attributes:a"}, "UNIMPLEMENTED"),
        ({"dead_letter_policy": {"dead_letter_topic": OTHER}}, "UNIMPLEMENTED"),
        ({"retry_policy": {"minimum_backoff": {"seconds": 60}}}, "UNIMPLEMENTED"),
        ({"name": "projects/p/subscriptions/x"}, "INVALID_ARGUMENT"),
        ({"topic": OTHER}, "NOT_FOUND"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused(clients, terms, code):
    clients.topic()
    with refused(code):
        clients.subscription(**terms)


def test_a_changed_deadline_holds_for_what_is_delivered_next(direct, clients):
    clients.topic()
    clients.subscription()
    update = {"subscription": {"name": SUBSCRIPTION, "ack_deadline_seconds": 60}}
    mask = {"update_mask": {"paths": ["ack_deadline_seconds"]}}
    changed = clients.subscriber.update_subscription(request={**update, **mask})
    assert changed.ack_deadline_seconds == 60
    clients.publish("x")
    assert clients.texts() == ["x"]
    direct.advance(59)
    assert clients.texts() == []
    direct.advance(1)
    assert clients.texts() == ["x"]
