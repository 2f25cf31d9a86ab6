"""Pub/Sub's table of methods, and those that stream."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

from injector.emulator.api.messages import Message
from injector.emulator.api.methods import Method
from injector.emulator.api.service import Service
from injector.emulator.pubsub import messages, publisher, pulling, subscriber
from injector.emulator.pubsub.service import PubSub
from injector.emulator.rpc import Converse

PUBLISHER = "/google.pubsub.v1.Publisher/"
SUBSCRIBER = "/google.pubsub.v1.Subscriber/"
STREAMING_PULL = SUBSCRIBER + "StreamingPull"
_Answer = Callable[..., bytes | Message | Awaitable[bytes]]

_METHODS: dict[str, tuple[type[Message], _Answer]] = {
    PUBLISHER + "CreateTopic": (messages.Topic, publisher.create_topic),
    PUBLISHER + "GetTopic": (messages.GetTopicRequest, publisher.get_topic),
    PUBLISHER + "UpdateTopic": (messages.UpdateTopicRequest, publisher.update_topic),
    PUBLISHER + "DeleteTopic": (messages.DeleteTopicRequest, publisher.delete_topic),
    PUBLISHER + "ListTopics": (messages.ListTopicsRequest, publisher.list_topics),
    PUBLISHER + "ListTopicSubscriptions": (
        messages.ListTopicSubscriptionsRequest,
        publisher.list_topic_subscriptions,
    ),
    PUBLISHER + "Publish": (messages.PublishRequest, publisher.publish),
    SUBSCRIBER + "CreateSubscription": (messages.Subscription, subscriber.create_subscription),
    SUBSCRIBER + "GetSubscription": (
        messages.GetSubscriptionRequest,
        subscriber.get_subscription,
    ),
    SUBSCRIBER + "UpdateSubscription": (
        messages.UpdateSubscriptionRequest,
        subscriber.update_subscription,
    ),
    SUBSCRIBER + "DeleteSubscription": (
        messages.DeleteSubscriptionRequest,
        subscriber.delete_subscription,
    ),
    SUBSCRIBER + "ListSubscriptions": (
        messages.ListSubscriptionsRequest,
        subscriber.list_subscriptions,
    ),
    SUBSCRIBER + "Pull": (messages.PullRequest, pulling.pull),
    SUBSCRIBER + "Acknowledge": (messages.AcknowledgeRequest, subscriber.acknowledge),
    SUBSCRIBER + "ModifyAckDeadline": (
        messages.ModifyAckDeadlineRequest,
        subscriber.modify_ack_deadline,
    ),
}


def methods(pubsub: PubSub) -> dict[str, Method]:
    """Return the methods that take one request and give one answer."""
    return {name: Method(kind, _bound(pubsub, answer)) for name, (kind, answer) in _METHODS.items()}


def streams(pubsub: PubSub) -> dict[str, Converse]:
    """Return the methods that stream both ways."""
    return {STREAMING_PULL: partial(_streaming_pull, pubsub)}


def resource(first: bytes) -> str:
    """Return the subscription that a stream's first message names; empty if it cannot be read."""
    return Method(messages.StreamingPullRequest, pulling.pull).resource(first)


def _bound(pubsub: PubSub, answer: _Answer) -> _Answer:
    def bound(_service: Service, request: Message) -> bytes | Message | Awaitable[bytes]:
        return answer(pubsub, request)

    return bound


def _streaming_pull(
    pubsub: PubSub, heard: AsyncIterator[bytes], _metadata: Mapping[str, str]
) -> AsyncGenerator[bytes]:
    return pulling.streaming_pull(pubsub, heard)
