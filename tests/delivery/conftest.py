"""A scripted Cloud Tasks for each test that asks for one, and creators that talk to it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import CallingCreator, Delivery, make_creator
from tests.scripted_service import Service, serve

Creating = Callable[..., CallingCreator]


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def service(stack: ExitStack) -> Service:
    return stack.enter_context(serve(Service()))


@pytest.fixture
def creating(service: Service, stack: ExitStack) -> Creating:
    """Return what makes a creator: the delivery's fields, and the address's where given."""

    def make(
        address: str = "", streams: int = 100, channels: int = 1, **delivery: object
    ) -> CallingCreator:
        where = Address(
            emulator_host=address or service.address, streams=streams, channels=channels
        )
        connection = Connection(where)
        stack.callback(connection.close)
        return make_creator(connection, Delivery(**{"mode": "single", **delivery}))

    return make
