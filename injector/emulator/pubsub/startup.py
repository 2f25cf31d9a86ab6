"""The topics and subscriptions that an emulator starts with."""

from injector.emulator.declared import declared, read_into
from injector.emulator.options import Options
from injector.emulator.pubsub import messages
from injector.emulator.pubsub.publisher import create_topic
from injector.emulator.pubsub.service import PubSub
from injector.emulator.pubsub.subscriber import create_subscription
from injector.emulator.rpc import RpcError
from injector.errors import Misused


def open_topics(pubsub: PubSub, options: Options) -> None:
    """Make the topics and subscriptions of the options; raises Misused with the place."""
    for source, settings in declared(options.topics, options.queues_file, "topics"):
        topic = messages.Topic()
        read_into(settings, topic, source)
        try:
            create_topic(pubsub, topic)
        except RpcError as error:
            raise Misused(f"{source}: {error.message}") from error
    for source, settings in declared(options.subscriptions, options.queues_file, "subscriptions"):
        subscription = messages.Subscription()
        read_into(settings, subscription, source)
        try:
            create_subscription(pubsub, subscription)
        except RpcError as error:
            raise Misused(f"{source}: {error.message}") from error
