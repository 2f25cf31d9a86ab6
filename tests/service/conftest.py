"""What the tests of the service share."""

import pytest

from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import Queue
from injector.ledger import open_ledger
from tests.bench import bench_of
from tests.buckets import bucket
from tests.house import House, settings_of
from tests.service.fed import GROUP, Field
from tests.service.ticked import World
from tests.tokens import Signer

__all__ = ["bucket"]


@pytest.fixture(scope="session")
def bench():
    """Make a bench; for a session, so that properties may make many."""
    made = []

    def make(records, **options: object):
        made.append(bench_of(records, **options))
        return made[-1]

    yield make
    for each in made:
        each.ledger.close()


@pytest.fixture(scope="session")
def signer():
    return Signer.new()


@pytest.fixture
def house_of(tmp_path, signer):
    """Make a house by its settings."""
    made = []

    def make(**changes: object):
        made.append(House(tmp_path, signer, settings_of(**changes)))
        return made[-1]

    yield make
    for each in made:
        each.ledger.close()


@pytest.fixture
def house(house_of):
    return house_of()


@pytest.fixture
def world():
    """Yield a controller over queues in memory."""
    made = World(open_ledger("sqlite://"))
    yield made
    made.ledger.close()


@pytest.fixture(scope="session")
def field_of():
    """Make a field; for a session, so that properties may make many."""
    made = []

    def make(**options: object):
        queues = MemoryQueues(Queue(name) for name in GROUP.injector_queues)
        made.append(Field(open_ledger("sqlite://"), queues, **options))
        return made[-1]

    yield make
    for each in made:
        each.ledger.close()


@pytest.fixture
def ground(field_of):
    ground = field_of()
    ground.add()
    return ground
