"""Every topic and subscription there is, and what publishing does to them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from injector.emulator.state.subscription import Message, Subscription, Terms

DELETED = "_deleted-topic_"
"""What a subscription names as its topic once that is gone."""


@dataclass(slots=True, eq=False)
class Topic:
    """A topic: its subscriptions by name, and what was published to it."""

    name: str
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    messages: int = 0
    bytes: int = 0


class Topics:
    """The topics and subscriptions by name.

    A message is kept by each subscription of its topic until it is acknowledged there, and by
    nobody if there is none. `most_bytes` bounds what is kept in all.
    """

    def __init__(self, *, first_id: int = 10**15, most_bytes: int = 2**30) -> None:
        self.topics: dict[str, Topic] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self._next_id = first_id
        self._serials = 0
        self._most_bytes = most_bytes

    def make_ids(self, count: int) -> list[str]:
        """Return ids that no message has had."""
        first = self._next_id
        self._next_id += count
        return [str(number) for number in range(first, self._next_id)]

    def has_room(self, topic: Topic, size: int) -> bool:
        """Tell whether messages of this size in all can be kept by all who want them."""
        kept = sum(subscription.bytes for subscription in self.subscriptions.values())
        return kept + size * len(topic.subscriptions) <= self._most_bytes

    def open(self, name: str) -> Topic:
        """Make a topic; the name must be free."""
        topic = self.topics[name] = Topic(name)
        return topic

    def close(self, topic: Topic) -> None:
        """Delete a topic; its subscriptions stay, with what they hold."""
        del self.topics[topic.name]

    def subscribe(self, topic: Topic, name: str, terms: Terms) -> Subscription:
        """Make a subscription; the name must be free."""
        self._serials += 1
        subscription = self.subscriptions[name] = Subscription(name, self._serials, terms)
        topic.subscriptions[name] = subscription
        return subscription

    def unsubscribe(self, subscription: Subscription) -> None:
        """Delete a subscription and all that it holds."""
        del self.subscriptions[subscription.name]
        for topic in self.topics.values():
            topic.subscriptions.pop(subscription.name, None)
        subscription.clear()

    def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        """Give each subscription of the topic the messages."""
        topic.messages += len(messages)
        topic.bytes += sum(len(message.form) for message in messages)
        for subscription in topic.subscriptions.values():
            for message in messages:
                subscription.add(message)

    def topic_of(self, subscription: Subscription) -> str:
        """Return the name of a subscription's topic."""
        return next(self._names(subscription), DELETED)

    def expire(self, *, now: float) -> None:
        """Drop the messages that are older than their subscriptions keep them."""
        for subscription in self.subscriptions.values():
            subscription.expire(now=now)

    def clear(self) -> None:
        """Delete everything; ids go on."""
        self.topics.clear()
        self.subscriptions.clear()

    def _names(self, subscription: Subscription) -> Iterator[str]:
        for topic in self.topics.values():
            if topic.subscriptions.get(subscription.name) is subscription:
                yield topic.name
