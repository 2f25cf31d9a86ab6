"""One suite over every way of publishing messages, and of looking at topics."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery
from injector.delivery.memory_topics import MemoryTopics
from injector.delivery.ports import Create, Creator, Outcome, Topics
from injector.delivery.publisher import make_publisher
from injector.delivery.topics import PubSubTopics
from injector.errors import NotFound
from injector.pacing.hedge import HedgingSettings
from tests import scripted_topics
from tests.emulator.live import live_emulator
from tests.emulator.pubsub import Clients, clients_of

TOPIC, SUBSCRIPTION = "projects/p/topics/users", "projects/p/subscriptions/users"


def message(number: int = 0, **fields: object) -> Create:
    return Create(**{"queue": TOPIC, "task_id": f"m{number}", "url": "", "body": b"x", **fields})


BAD = {"headers": (("goog", "an attribute that Pub/Sub refuses"),)}


class Adapter:
    """A way of publishing; a message that is `BAD` is refused, alone or with others."""

    def __init__(
        self, publisher: Creator, topics: Topics, published: Callable[[], list[str]]
    ) -> None:
        self.publisher = publisher
        self.topics = topics
        self.published = published

    def outcomes(self, *messages: Create) -> list[Outcome]:
        return [one.outcome for one in self.publisher.create_all(messages, budget_s=20)]


def in_memory(_stack: ExitStack) -> Adapter:
    topics = MemoryTopics([TOPIC], valid=lambda one: not one.headers)
    return Adapter(topics, topics, lambda: [one.task_id for one in topics.topics[TOPIC]])


def over_grpc(stack: ExitStack, delivery: Delivery) -> Adapter:
    def valid(one: scripted_topics.Message) -> bool:
        return "goog" not in one.attributes

    served = scripted_topics.Topics({TOPIC: []}, valid=valid)
    address = Address(emulator_host=stack.enter_context(scripted_topics.serve(served)).address)
    connection = Connection(address)
    stack.callback(connection.close)

    def published() -> list[str]:
        return [one.attributes["injector-id"] for one in served.topics[TOPIC]]

    return Adapter(make_publisher(connection, delivery), PubSubTopics(connection), published)


def over_the_emulator(stack: ExitStack) -> Adapter:
    """Publish to the emulator, and read by the client that subscribers have."""
    starts = (f"{SUBSCRIPTION}={{topic: {TOPIC}}}",)
    live = stack.enter_context(live_emulator(topics=(TOPIC,), subscriptions=starts))
    port = stack.enter_context(clients_of(live.running.port))
    clients = Clients(port.publisher(), port.subscriber())
    connection = Connection(Address(emulator_host=f"127.0.0.1:{live.running.port}"))
    stack.callback(connection.close)

    def published() -> list[str]:
        pulled = clients.pull(1000, SUBSCRIPTION)
        if pulled:
            clients.extend(*pulled, seconds=0, subscription=SUBSCRIPTION)
        return [one.message.attributes["injector-id"] for one in pulled]

    delivery = Delivery(hedging=HedgingSettings())
    return Adapter(make_publisher(connection, delivery), PubSubTopics(connection), published)


def plain(stack: ExitStack) -> Adapter:
    return over_grpc(stack, Delivery())


def hedged(stack: ExitStack) -> Adapter:
    return over_grpc(stack, Delivery(hedging=HedgingSettings()))


@pytest.fixture(params=[in_memory, plain, hedged, over_the_emulator])
def adapter(request: pytest.FixtureRequest) -> Iterator[Adapter]:
    make: Callable[[ExitStack], Adapter] = request.param
    with ExitStack() as stack:
        yield make(stack)


def test_messages_are_published_with_their_ids_and_each_gets_one(adapter: Adapter) -> None:
    results = adapter.publisher.create_all([message(n) for n in range(100)], budget_s=20)
    assert [one.outcome for one in results] == [Outcome.CREATED] * 100
    assert adapter.published() == [f"m{n}" for n in range(100)]
    assert len({one.message_id for one in results} - {""}) == 100


def test_message_published_again_comes_twice_under_the_same_id(adapter: Adapter) -> None:
    adapter.outcomes(message(1))
    assert adapter.outcomes(message(1)) == [Outcome.CREATED]
    assert adapter.published() == ["m1", "m1"]


@pytest.mark.parametrize("bad", [{0}, {99}, {3, 50, 51}, set(range(100))])
def test_bad_messages_are_rejected_one_by_one(adapter: Adapter, bad: set[int]) -> None:
    messages = [message(n, **(BAD if n in bad else {})) for n in range(100)]
    rejected = {n for n, end in enumerate(adapter.outcomes(*messages)) if end is Outcome.REJECTED}
    assert rejected == bad
    assert adapter.published() == [f"m{n}" for n in range(100) if n not in bad]


def test_missing_topic_is_the_topics_fault_and_not_the_records(adapter: Adapter) -> None:
    (result,) = adapter.publisher.create_all([message(queue=f"{TOPIC}-gone")], budget_s=20)
    assert result.queue_at_fault
    assert f"{TOPIC}-gone" in result.reason
    assert "create the topic" in result.reason


def test_nothing_to_publish_is_no_error(adapter: Adapter) -> None:
    assert adapter.outcomes() == []


def test_messages_of_a_key_are_published_in_their_order(adapter: Adapter) -> None:
    messages = [message(n, ordering_key=f"k{n % 3}") for n in range(30)]
    assert adapter.outcomes(*messages) == [Outcome.CREATED] * 30
    for key in range(3):
        published = [one for one in adapter.published() if int(one[1:]) % 3 == key]
        assert published == [f"m{n}" for n in range(key, 30, 3)]


def test_what_the_service_answered_is_counted_by_message(adapter: Adapter) -> None:
    adapter.outcomes(*(message(n) for n in range(7)))
    assert adapter.publisher.drain_signals().accepted == 7


def test_topic_that_is_there_can_be_looked_at_and_one_that_is_not_is_named(
    adapter: Adapter,
) -> None:
    adapter.topics.look(TOPIC)
    with pytest.raises(NotFound, match=f"{TOPIC}-gone"):
        adapter.topics.look(f"{TOPIC}-gone")


def test_publisher_works_again_after_it_was_closed(adapter: Adapter) -> None:
    adapter.publisher.close()
    assert adapter.outcomes(message(1)) == [Outcome.CREATED]
