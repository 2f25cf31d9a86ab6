"""The Publisher's methods."""

from collections.abc import Mapping

from injector.emulator.api import masks, pages
from injector.emulator.api.messages import Empty
from injector.emulator.api.refusals import invalid
from injector.emulator.pubsub import messages, refusals
from injector.emulator.pubsub.service import MOST_OF_A_KIND, PubSub, check_project, check_topic
from injector.emulator.rpc import Code, RpcError
from injector.emulator.state.subscription import Message

MOST_MESSAGES = 1000
MOST_BYTES = 10_000_000
MOST_ATTRIBUTES = 100
MOST_KEY_BYTES = 256
MOST_VALUE_BYTES = 1024
MOST_ORDERING_KEY_BYTES = 1024
CLIENTS_OWN = "googclient_"
"""What begins the attributes that Google's own clients add, such as a trace's."""
_MOST_LISTED = 1000
_ACTIVE = 1
_NOT_EMULATED = {
    "schema_settings": "schemas",
    "ingestion_data_source_settings": "ingestion into topics",
    "message_transforms": "message transforms",
}


def create_topic(pubsub: PubSub, request: messages.Topic) -> messages.Topic:
    """Make a topic."""
    check_topic(request.name)
    refusals.check_emulated(request, _NOT_EMULATED)
    if request.name in pubsub.topics.topics:
        raise refusals.exists(request.name)
    if len(pubsub.topics.topics) >= MOST_OF_A_KIND:
        raise RpcError(Code.RESOURCE_EXHAUSTED, f"There can be at most {MOST_OF_A_KIND} topics.")
    pubsub.topics.open(request.name)
    config = pubsub.configs[request.name] = messages.Topic()
    config.CopyFrom(request)
    config.state = _ACTIVE
    return config


def get_topic(pubsub: PubSub, request: messages.GetTopicRequest) -> messages.Topic:
    """Return a topic."""
    return pubsub.configs[pubsub.topic(request.topic).name]


def update_topic(pubsub: PubSub, request: messages.UpdateTopicRequest) -> messages.Topic:
    """Change the fields of the mask; they are kept and shown, and change no behaviour."""
    config = pubsub.configs[pubsub.topic(request.topic.name).name]
    paths = list(request.update_mask.paths)
    if not paths:
        raise invalid(
            "The update_mask in the UpdateTopicRequest must be set, and must contain "
            "a non-empty paths list."
        )
    if "name" in paths:
        raise invalid("Invalid update_mask provided in the UpdateTopicRequest: name cannot change.")
    changed = messages.Topic()
    masks.copy_fields(request.topic, changed, paths)  # refuses unknown paths first
    refusals.check_emulated(changed, _NOT_EMULATED)
    masks.copy_fields(request.topic, config, paths)
    return config


def delete_topic(pubsub: PubSub, request: messages.DeleteTopicRequest) -> Empty:
    """Delete a topic; its subscriptions stay, and get nothing more."""
    topic = pubsub.topic(request.topic)
    pubsub.topics.close(topic)
    del pubsub.configs[topic.name]
    return Empty()


def list_topics(pubsub: PubSub, request: messages.ListTopicsRequest) -> messages.ListTopicsResponse:
    """Return a page of a project's topics, by name."""
    check_project(request.project)
    names, token = page(pubsub, pubsub.configs, request.project, request)
    return messages.ListTopicsResponse(
        topics=[pubsub.configs[name] for name in names], next_page_token=token
    )


def list_topic_subscriptions(
    pubsub: PubSub, request: messages.ListTopicSubscriptionsRequest
) -> messages.ListTopicSubscriptionsResponse:
    """Return a page of the names of a topic's subscriptions."""
    names, token = page(pubsub, pubsub.topic(request.topic).subscriptions, "", request)
    return messages.ListTopicSubscriptionsResponse(subscriptions=names, next_page_token=token)


def publish(pubsub: PubSub, request: messages.PublishRequest) -> messages.PublishResponse:
    """Give each subscription of a topic the messages, all or none of them."""
    topic = pubsub.topic(request.topic)
    size = request.ByteSize()
    check_messages(request, size)
    if topic.subscriptions and not pubsub.topics.has_room(topic, size):
        raise refusals.full()
    now = pubsub.clock.now()
    ids = pubsub.topics.make_ids(len(request.messages))
    published = [
        Message(made, pubsub.render(message, made, now), message.ordering_key, now)
        for made, message in zip(ids, request.messages, strict=True)
    ]
    pubsub.topics.publish(topic, published)
    for name in topic.subscriptions:
        pubsub.bell.ring(name)
    return messages.PublishResponse(message_ids=ids)


def check_messages(request: messages.PublishRequest, size: int) -> None:
    """Raise RpcError for what is beyond the limits of a publish (quotas page)."""
    count = len(request.messages)
    if not 1 <= count <= MOST_MESSAGES:
        raise refusals.out_of_range("message_count", count, low=1, high=MOST_MESSAGES)
    if size > MOST_BYTES:
        raise refusals.out_of_range("request_size", size, high=MOST_BYTES)
    for message in request.messages:
        if not message.data and not message.attributes:
            raise refusals.empty_message()
        key_size = len(message.ordering_key.encode())
        if key_size > MOST_ORDERING_KEY_BYTES:
            raise refusals.out_of_range("ordering_key", key_size, high=MOST_ORDERING_KEY_BYTES)
        _check_attributes(message.attributes)


def _check_attributes(attributes: Mapping[str, str]) -> None:
    if len(attributes) > MOST_ATTRIBUTES:
        raise refusals.out_of_range("attribute_count", len(attributes), high=MOST_ATTRIBUTES)
    for key, value in attributes.items():
        if not key or (key.startswith("goog") and not key.startswith(CLIENTS_OWN)):
            raise invalid(
                f"The attribute key {key!r} is not valid: it must not be empty or start "
                "with 'goog'."
            )
        for kind, text, most in (
            ("attribute_key_size", key, MOST_KEY_BYTES),
            ("attribute_value_size", value, MOST_VALUE_BYTES),
        ):
            if len(text.encode()) > most:
                raise refusals.out_of_range(kind, len(text.encode()), high=most)


_Paged = (
    messages.ListTopicsRequest
    | messages.ListTopicSubscriptionsRequest
    | messages.ListSubscriptionsRequest
)


def page(
    pubsub: PubSub, names: Mapping[str, object], project: str, request: _Paged
) -> tuple[list[str], str]:
    """Return a page of the names in a project, and the token of the next."""
    now = pubsub.clock.now()
    scope = f"{type(request).__name__}/{project}"
    after = pages.read(request.page_token, scope=scope, now=now)
    size = pages.size(request.page_size, _MOST_LISTED)
    prefix = f"{project}/" if project else ""
    left = sorted(name for name in names if name > after and name.startswith(prefix))
    more = pages.write(left[size - 1], scope=scope, now=now) if len(left) > size else ""
    return left[:size], more
