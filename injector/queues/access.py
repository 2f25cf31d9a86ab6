"""Queues asked from a command, over a connection of its own."""

from collections.abc import Iterator
from contextlib import contextmanager

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import QueueAdmin, Topics
from injector.delivery.publisher import SERVICE as PUBSUB
from injector.delivery.queue_admin import CloudTasksAdmin
from injector.delivery.topics import PubSubTopics


@contextmanager
def admin_at(emulator_host: str) -> Iterator[QueueAdmin]:
    """Give the administration of queues, at the emulator if there is one; close it afterwards."""
    connection = Connection(Address(emulator_host=emulator_host))
    creator = make_creator(connection, Delivery(mode="single", throttle=None))
    admin = CloudTasksAdmin(connection, creator)
    try:
        yield admin
    finally:
        admin.close()
        connection.close()


@contextmanager
def topics_at(emulator_host: str) -> Iterator[Topics]:
    """Give who can look at topics, at the emulator if there is one; close it afterwards."""
    connection = Connection(Address(service=PUBSUB, emulator_host=emulator_host))
    try:
        yield PubSubTopics(connection)
    finally:
        connection.close()
