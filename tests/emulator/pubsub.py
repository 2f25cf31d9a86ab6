"""Pub/Sub's clients of an emulator: directly in frozen time, or over its port."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import grpc
from google import pubsub_v1
from google.cloud import pubsub_v1 as high
from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport
from google.pubsub_v1.services.subscriber.transports import SubscriberGrpcTransport
from google.pubsub_v1.types import ReceivedMessage

from injector.emulator.parts import Parts
from tests.emulator.direct import Channel

TOPIC = "projects/p/topics/events"
SUBSCRIPTION = "projects/p/subscriptions/events-a"


@dataclass(frozen=True)
class Clients:
    """The raw clients of one emulator."""

    publisher: pubsub_v1.PublisherClient
    subscriber: pubsub_v1.SubscriberClient

    def topic(self, name: str = TOPIC, **settings: object) -> str:
        return self.publisher.create_topic(request={"name": name, **settings}).name

    def subscription(self, name: str = SUBSCRIPTION, topic: str = TOPIC, **terms: object) -> str:
        request = {"name": name, "topic": topic, **terms}
        return self.subscriber.create_subscription(request=request).name

    def publish(self, *texts: str, topic: str = TOPIC, key: str = "") -> list[str]:
        sent = [{"data": text.encode(), "ordering_key": key} for text in texts]
        return list(self.publisher.publish(topic=topic, messages=sent).message_ids)

    def pull(self, most: int = 100, subscription: str = SUBSCRIPTION) -> list:
        request = {
            "subscription": subscription,
            "max_messages": most,
            "return_immediately": True,
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of return_immediately
            return list(self.subscriber.pull(request=request).received_messages)

    def texts(self, most: int = 100) -> list[str]:
        return [each.message.data.decode() for each in self.pull(most)]

    def acknowledge(self, *received: ReceivedMessage) -> None:
        ids = [each.ack_id for each in received]
        self.subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=ids)

    def extend(
        self, *received: ReceivedMessage, seconds: int, subscription: str = SUBSCRIPTION
    ) -> None:
        self.subscriber.modify_ack_deadline(
            subscription=subscription,
            ack_ids=[each.ack_id for each in received],
            ack_deadline_seconds=seconds,
        )


def direct_clients(parts: Parts) -> Clients:
    """Return clients that call an emulator without a network."""
    channel = Channel(parts)
    return Clients(
        pubsub_v1.PublisherClient(transport=PublisherGrpcTransport(channel=channel)),
        pubsub_v1.SubscriberClient(transport=SubscriberGrpcTransport(channel=channel)),
    )


@dataclass(frozen=True)
class Port:
    """The clients that people use, over an emulator's port."""

    port: int
    stack: ExitStack

    def channel(self) -> grpc.Channel:
        channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        self.stack.callback(channel.close)
        return channel

    def publisher(
        self, kind: Callable[..., high.PublisherClient] = high.PublisherClient, **options: object
    ) -> high.PublisherClient:
        client = kind(transport=PublisherGrpcTransport(channel=self.channel()), **options)
        self.stack.callback(client.stop)
        return client

    def subscriber(self) -> high.SubscriberClient:
        return high.SubscriberClient(transport=SubscriberGrpcTransport(channel=self.channel()))


@contextmanager
def clients_of(port: int) -> Iterator[Port]:
    """Yield what makes clients of the emulator on a port, and close them."""
    with ExitStack() as stack:
        yield Port(port, stack)
