"""What there is to see of topics and subscriptions."""

from dataclasses import dataclass

from injector.emulator.pubsub.service import PubSub
from injector.emulator.records.publishes import Publishes
from injector.emulator.state.subscription import Subscription


@dataclass(frozen=True, slots=True)
class SubscriptionRow:
    """A subscription at a glance; `backlog` is not acknowledged, `outstanding` is on lease."""

    name: str
    backlog: int
    outstanding: int
    delivered: int
    redelivered: int
    acknowledged: int
    expired: int


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A topic at a glance; `publishes` counts calls by code, CANCELLED ones included."""

    name: str
    messages: int
    bytes: int
    publishes: dict[str, int]
    subscriptions: list[SubscriptionRow]


def topic_rows(pubsub: PubSub, publishes: Publishes) -> list[TopicRow]:
    """Return a row for each topic, by name."""
    return [
        TopicRow(
            name=name,
            messages=topic.messages,
            bytes=topic.bytes,
            publishes=publishes.counts(name),
            subscriptions=[_row(one) for _, one in sorted(topic.subscriptions.items())],
        )
        for name, topic in sorted(pubsub.topics.topics.items())
    ]


def _row(subscription: Subscription) -> SubscriptionRow:
    return SubscriptionRow(
        name=subscription.name,
        backlog=subscription.backlog,
        outstanding=subscription.outstanding,
        delivered=subscription.delivered,
        redelivered=subscription.redelivered,
        acknowledged=subscription.acknowledged,
        expired=subscription.expired,
    )
