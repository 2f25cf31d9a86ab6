"""The Subscriber's methods on subscriptions, acknowledgements and leases."""

from collections.abc import Sequence

from injector.emulator.api import masks
from injector.emulator.api.messages import Empty
from injector.emulator.api.refusals import invalid
from injector.emulator.pubsub import messages, refusals
from injector.emulator.pubsub.publisher import page
from injector.emulator.pubsub.service import (
    MOST_OF_A_KIND,
    PubSub,
    check_project,
    check_subscription,
)
from injector.emulator.rpc import Code, RpcError
from injector.emulator.state.subscription import Subscription, Terms

SHORTEST_DEADLINE_S, DEFAULT_DEADLINE_S, LONGEST_DEADLINE_S = 10, 10, 600
_SHORTEST_RETENTION_S, _DEFAULT_RETENTION_S, _LONGEST_RETENTION_S = 600, 7 * 86400, 31 * 86400
_ACTIVE = 1
_NOT_EMULATED = {
    "push_config": "push subscriptions",
    "bigquery_config": "BigQuery subscriptions",
    "cloud_storage_config": "Cloud Storage subscriptions",
    "bigtable_config": "Bigtable subscriptions",
    "dead_letter_policy": "dead letter topics",
    "retry_policy": "retry policies",
    "filter": "filters of subscriptions",
    "enable_exactly_once_delivery": "exactly-once delivery",
    "message_transforms": "message transforms",
}


def create_subscription(pubsub: PubSub, request: messages.Subscription) -> messages.Subscription:
    """Make a subscription, which gets what is published from now on."""
    check_subscription(request.name)
    topic = pubsub.topic(request.topic)
    if request.name in pubsub.topics.subscriptions:
        raise refusals.exists(request.name)
    if len(pubsub.topics.subscriptions) >= MOST_OF_A_KIND:
        most = f"There can be at most {MOST_OF_A_KIND} subscriptions."
        raise RpcError(Code.RESOURCE_EXHAUSTED, most)
    config = messages.Subscription()
    config.CopyFrom(request)
    config.state = _ACTIVE
    pubsub.topics.subscribe(topic, request.name, complete(config))
    pubsub.terms[request.name] = config
    return config


def get_subscription(
    pubsub: PubSub, request: messages.GetSubscriptionRequest
) -> messages.Subscription:
    """Return a subscription."""
    return render(pubsub, pubsub.subscription(request.subscription))


def update_subscription(
    pubsub: PubSub, request: messages.UpdateSubscriptionRequest
) -> messages.Subscription:
    """Change the fields of the mask; leases that run are not changed."""
    subscription = pubsub.subscription(request.subscription.name)
    paths = list(request.update_mask.paths)
    if not paths or set(paths) & {"name", "topic", "enable_message_ordering"}:
        raise invalid("Invalid update_mask provided in the UpdateSubscriptionRequest.")
    config = messages.Subscription()
    config.CopyFrom(pubsub.terms[subscription.name])
    masks.copy_fields(request.subscription, config, paths)
    subscription.terms = complete(config)
    pubsub.terms[subscription.name] = config
    return render(pubsub, subscription)


def delete_subscription(pubsub: PubSub, request: messages.DeleteSubscriptionRequest) -> Empty:
    """Delete a subscription and what it holds."""
    subscription = pubsub.subscription(request.subscription)
    pubsub.topics.unsubscribe(subscription)
    del pubsub.terms[subscription.name]
    pubsub.bell.ring(subscription.name)
    return Empty()


def list_subscriptions(
    pubsub: PubSub, request: messages.ListSubscriptionsRequest
) -> messages.ListSubscriptionsResponse:
    """Return a page of a project's subscriptions, by name."""
    check_project(request.project)
    names, token = page(pubsub, pubsub.terms, request.project, request)
    listed = [render(pubsub, pubsub.topics.subscriptions[name]) for name in names]
    return messages.ListSubscriptionsResponse(subscriptions=listed, next_page_token=token)


def acknowledge(pubsub: PubSub, request: messages.AcknowledgeRequest) -> Empty:
    """Drop the messages of these leases for good; late ones are ignored."""
    subscription = pubsub.subscription(request.subscription)
    check_ack_ids(subscription, request.ack_ids)
    now = pubsub.clock.now()
    for ack_id in request.ack_ids:
        subscription.acknowledge(ack_id, now=now)
    pubsub.bell.ring(subscription.name)
    return Empty()


def modify_ack_deadline(pubsub: PubSub, request: messages.ModifyAckDeadlineRequest) -> Empty:
    """Let these leases end so many seconds from now; 0 gives the messages back at once."""
    subscription = pubsub.subscription(request.subscription)
    check_ack_ids(subscription, request.ack_ids)
    deadline = request.ack_deadline_seconds
    if not 0 <= deadline <= LONGEST_DEADLINE_S:
        raise refusals.out_of_range("ack_deadline_seconds", deadline, high=LONGEST_DEADLINE_S)
    for ack_id in request.ack_ids:
        subscription.extend(ack_id, deadline, now=pubsub.clock.now())
    pubsub.bell.ring(subscription.name)
    return Empty()


def check_ack_ids(subscription: Subscription, ack_ids: Sequence[str]) -> None:
    """Raise RpcError unless there are some, and all can be the subscription's."""
    if not ack_ids:
        raise invalid("No ack ids specified.")
    for ack_id in ack_ids:
        if not subscription.issued(ack_id):
            raise refusals.bad_ack_id(ack_id)


def render(pubsub: PubSub, subscription: Subscription) -> messages.Subscription:
    """Return a subscription as callers see it."""
    config = pubsub.terms[subscription.name]
    config.topic = pubsub.topics.topic_of(subscription)
    return config


def complete(config: messages.Subscription) -> Terms:
    """Fill in what is unset, and return the terms; raises RpcError for what cannot be."""
    refusals.check_emulated(config, _NOT_EMULATED)
    deadline = config.ack_deadline_seconds = config.ack_deadline_seconds or DEFAULT_DEADLINE_S
    if not SHORTEST_DEADLINE_S <= deadline <= LONGEST_DEADLINE_S:
        low, high = SHORTEST_DEADLINE_S, LONGEST_DEADLINE_S
        raise refusals.out_of_range("ack_deadline_seconds", deadline, low=low, high=high)
    retention = config.message_retention_duration
    if not retention.seconds:
        retention.seconds = _DEFAULT_RETENTION_S
    if not _SHORTEST_RETENTION_S <= retention.seconds <= _LONGEST_RETENTION_S:
        raise refusals.out_of_range(
            "message_retention_duration",
            retention.seconds,
            low=_SHORTEST_RETENTION_S,
            high=_LONGEST_RETENTION_S,
        )
    return Terms(deadline, retention.seconds, ordered=config.enable_message_ordering)
