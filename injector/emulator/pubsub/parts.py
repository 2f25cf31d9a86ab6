"""How Pub/Sub is put together; without its client library there is none."""

from dataclasses import dataclass

from injector.emulator.api.methods import Method
from injector.emulator.entry.streamed import Streamed, striking
from injector.emulator.faults.plan import Plan
from injector.emulator.pubsub.bell import Bell
from injector.emulator.pubsub.methods import (
    STREAMING_PULL,
    methods,
    resource,
    streams,
)
from injector.emulator.pubsub.service import PubSub
from injector.emulator.pubsub.sight import TopicRow, topic_rows
from injector.emulator.records.metrics import Metrics
from injector.emulator.records.publishes import Publishes
from injector.emulator.rpc import Code, Converse
from injector.emulator.state.topics import Topics
from injector.emulator.timeline import Timeline


@dataclass(frozen=True, slots=True)
class PubSubParts:
    """What an emulator has of Pub/Sub: its state, its methods, and what it measures."""

    service: PubSub
    publishes: Publishes
    methods: dict[str, Method]
    streams: dict[str, Converse]

    def publish_ended(self, topic: str, code: Code, took_s: float) -> None:
        """Measure a publish; those to topics that are not there are one."""
        known = topic if topic in self.service.topics.topics else ""
        self.publishes.ended(known, code, took_s, now=self.service.clock.now())

    def keep_house(self) -> None:
        """Drop what has expired."""
        now = self.service.clock.now()
        self.service.topics.expire(now=now)
        self.publishes.forget(now=now)

    def rows(self) -> list[TopicRow]:
        """Return what there is to see."""
        return topic_rows(self.service, self.publishes)

    def reset(self, *, keep: bool) -> None:
        """Back to the beginning; topics and subscriptions stay, empty, if they are kept."""
        self.service.reset(keep=keep)
        self.publishes.clear()


def assemble_pubsub(clock: Timeline, plan: Plan, metrics: Metrics) -> PubSubParts:
    """Return a Pub/Sub that nobody has called yet."""
    topics = Topics(first_id=int(clock.now() * 1000) * 1000)
    service = PubSub(topics, clock, Bell(clock))
    inner = streams(service)[STREAMING_PULL]
    streamed = Streamed(STREAMING_PULL, inner, resource, striking(plan, clock), metrics.call_ended)
    return PubSubParts(service, Publishes(), methods(service), {STREAMING_PULL: streamed})
