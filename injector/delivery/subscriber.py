"""Receiving what a subscription delivers, by Google's own client; for local runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import grpc

from injector.errors import Misused

LARGEST = 32 * 2**20


@contextmanager
def received(
    subscription: str, host: str, take: Callable[[Mapping[str, str]], None]
) -> Iterator[None]:
    """Hand each message's attributes to `take` and acknowledge it, from an emulator at `host`.

    The client opens its stream again when the emulator was away. Raises Misused without the
    extra `pubsub`.
    """
    try:
        from google.cloud import pubsub_v1  # noqa: PLC0415  (an extra)
        from google.pubsub_v1.services.subscriber.transports import (  # noqa: PLC0415
            SubscriberGrpcTransport,
        )
    except ImportError as error:
        raise Misused(
            f"{subscription} needs the extra `pubsub`: pip install 'cloud-tasks-injector[pubsub]'"
        ) from error

    def took(message: pubsub_v1.subscriber.message.Message) -> None:
        take(message.attributes)
        message.ack()

    options = [("grpc.max_receive_message_length", LARGEST)]
    transport = SubscriberGrpcTransport(channel=grpc.insecure_channel(host, options))
    with pubsub_v1.SubscriberClient(transport=transport) as client:
        streaming = client.subscribe(subscription, took)
        yield
        streaming.cancel()
        streaming.result()
