"""Everything that a method of Pub/Sub can reach."""

import re
from dataclasses import dataclass, field

from injector.emulator.api import instants
from injector.emulator.pubsub import messages, refusals
from injector.emulator.pubsub.bell import Bell
from injector.emulator.state.subscription import Subscription
from injector.emulator.state.topics import Topic, Topics
from injector.emulator.timeline import Timeline

_ID = r"(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}"
_is_topic = re.compile(rf"projects/[A-Za-z0-9:.-]+/topics/{_ID}").fullmatch
_is_subscription = re.compile(rf"projects/[A-Za-z0-9:.-]+/subscriptions/{_ID}").fullmatch
_is_project = re.compile(r"projects/[A-Za-z0-9:.-]+").fullmatch
MOST_OF_A_KIND = 10_000
"""Topics or subscriptions of a project (quotas page)."""


@dataclass(slots=True)
class PubSub:
    """The state behind the methods: topics, subscriptions, and their settings as callers see them.

    `bell` wakes those who wait for messages.
    """

    topics: Topics
    clock: Timeline
    bell: Bell
    configs: dict[str, messages.Topic] = field(default_factory=dict)
    terms: dict[str, messages.Subscription] = field(default_factory=dict)

    def topic(self, name: str) -> Topic:
        """Return a topic; raises RpcError if the name is bad or there is none."""
        topic = self.topics.topics.get(name)
        if topic is None:
            check_topic(name)
            raise refusals.missing(name)
        return topic

    def subscription(self, name: str) -> Subscription:
        """Return a subscription; raises RpcError if the name is bad or there is none."""
        subscription = self.topics.subscriptions.get(name)
        if subscription is None:
            check_subscription(name)
            raise refusals.missing(name)
        return subscription

    def reset(self, *, keep: bool) -> None:
        """Delete all topics and subscriptions, or only the messages if they are kept."""
        for subscription in self.topics.subscriptions.values():
            subscription.clear()
        if not keep:
            self.topics.clear()
            self.configs.clear()
            self.terms.clear()
        self.bell.ring_all()

    def render(self, message: messages.PubsubMessage, message_id: str, now: float) -> bytes:
        """Return a message as subscribers get it."""
        message.message_id = message_id
        instants.write(message.publish_time, now)
        return message.SerializeToString()


def check_topic(name: str) -> None:
    """Raise RpcError unless it is a topic's name."""
    if not _is_topic(name):
        raise refusals.bad_name("topics", name)


def check_subscription(name: str) -> None:
    """Raise RpcError unless it is a subscription's name."""
    if not _is_subscription(name):
        raise refusals.bad_name("subscriptions", name)


def check_project(name: str) -> None:
    """Raise RpcError unless it is a project's name."""
    if not _is_project(name):
        raise refusals.bad_name("projects", name)
