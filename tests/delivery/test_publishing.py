"""Messages over gRPC: how many calls they take, and what becomes of them when calls fail."""

from collections.abc import Callable, Iterator

import pytest

from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import CallingCreator, Delivery
from injector.delivery.ports import Create, Outcome
from injector.delivery.publisher import make_publisher
from injector.delivery.topics import PubSubTopics
from injector.errors import Misused, NotFound
from injector.pacing.backoff import Backoff
from injector.pacing.hedge import HedgingSettings
from tests.scripted_topics import Topics, serve

TOPIC = "projects/p/topics/users"
SOON = HedgingSettings(hedge_delay=0.1, refill_ratio=0.2)
ONCE = Backoff(attempts=1)
Publishing = Callable[..., CallingCreator]


@pytest.fixture
def topics() -> Iterator[Topics]:
    with serve(Topics({TOPIC: []})) as served:
        yield served


@pytest.fixture
def connection(topics: Topics) -> Iterator[Connection]:
    opened = Connection(Address(emulator_host=topics.address))
    yield opened
    opened.close()


@pytest.fixture
def publishing(connection: Connection) -> Publishing:
    return lambda **delivery: make_publisher(connection, Delivery(**delivery))


def message(number: int = 0, body: bytes = b"x", key: str = "") -> Create:
    return Create(TOPIC, f"m{number}", "", body, ordering_key=key)


def sent(topics: Topics) -> list[list[str]]:
    return [[one.attributes["injector-id"] for one in each.messages] for each in topics.requests]


def ids(*numbers: int) -> list[str]:
    return [f"m{number}" for number in numbers]


def test_chunk_of_small_messages_is_one_call(topics: Topics, publishing: Publishing) -> None:
    publishing().create_all([message(n) for n in range(100)], budget_s=20)
    assert sent(topics) == [ids(*range(100))]


def test_call_has_at_most_a_thousand_messages(topics: Topics, publishing: Publishing) -> None:
    publishing().create_all([message(n) for n in range(1500)], budget_s=20)
    assert sorted(map(len, sent(topics))) == [500, 1000]


def test_calls_stay_below_ten_megabytes(topics: Topics, publishing: Publishing) -> None:
    large = [message(n, b"x" * 3_000_000) for n in range(7)]
    results = publishing().create_all(large, budget_s=60)
    assert [one.outcome for one in results] == [Outcome.CREATED] * 7
    assert sorted(map(len, sent(topics))) == [1, 3, 3]


def test_each_ordering_key_has_calls_of_its_own(topics: Topics, publishing: Publishing) -> None:
    messages = [message(0, key="a"), message(1, key="b"), message(2), message(3, key="a")]
    publishing().create_all(messages, budget_s=20)
    assert sorted(sent(topics)) == [ids(0, 3), ids(1), ids(2)]


def test_messages_of_a_key_wait_behind_one_that_was_not_taken(
    topics: Topics, publishing: Publishing
) -> None:
    topics.plan = lambda _request, number: "UNAVAILABLE" if number == 2 else "OK"
    large = [message(n, b"x" * 4_000_000, key="a") for n in range(6)]
    results = publishing(backoff=ONCE).create_all(large, budget_s=60)
    assert sent(topics) == [ids(0, 1), ids(2, 3)]
    assert [one.outcome for one in results] == [Outcome.CREATED] * 2 + [Outcome.NOT_TAKEN] * 4
    assert "a message before it was not taken" in results[-1].reason


def test_one_bad_message_costs_the_others_a_few_calls_and_nothing_else(
    topics: Topics, publishing: Publishing
) -> None:
    topics.valid = lambda one: one.data != b"bad"
    messages = [message(n, b"bad" if n == 37 else b"x") for n in range(100)]
    results = publishing().create_all(messages, budget_s=20)
    assert [n for n, one in enumerate(results) if one.outcome is Outcome.REJECTED] == [37]
    assert results[37].reason == "the request will not do"
    assert len(topics.requests) < 20
    assert len(topics.topics[TOPIC]) == 99


def test_lost_answer_publishes_twice_under_the_same_ids(
    topics: Topics, publishing: Publishing
) -> None:
    topics.plan = lambda _request, number: "lost UNAVAILABLE" if number == 1 else "OK"
    results = publishing().create_all([message(n) for n in range(3)], budget_s=20)
    assert [one.outcome for one in results] == [Outcome.CREATED] * 3
    assert sent(topics) == [ids(0, 1, 2)] * 2
    assert len(topics.topics[TOPIC]) == 6


def warmed(topics: Topics, publisher: CallingCreator) -> None:
    """Let five successes bring a token, and forget them."""
    for number in range(5):
        publisher.create_all([message(number)], budget_s=20)
    publisher.drain_signals()
    topics.requests.clear()


def test_slow_publish_is_hedged_and_the_loser_is_cancelled(
    topics: Topics, publishing: Publishing
) -> None:
    publisher = publishing(hedging=SOON)
    warmed(topics, publisher)
    topics.plan = lambda _request, number: "never" if number == 1 else "OK"
    results = publisher.create_all([message(n) for n in range(3)], budget_s=20)
    signals = publisher.drain_signals()
    assert [one.outcome for one in results] == [Outcome.CREATED] * 3
    assert (signals.hedges_sent, signals.hedges_won, signals.accepted) == (1, 1, 3)
    assert signals.hedges_cancelled == 1
    assert sent(topics) == [ids(0, 1, 2)] * 2


def test_messages_with_a_key_are_not_hedged(topics: Topics, publishing: Publishing) -> None:
    publisher = publishing(hedging=SOON, call_timeout_s=0.5, backoff=ONCE)
    warmed(topics, publisher)
    topics.plan = lambda _request, _number: "never"
    (result,) = publisher.create_all([message(9, key="a")], budget_s=20)
    assert result.code == "DEADLINE_EXCEEDED"
    assert sent(topics) == [ids(9)]


def test_hedging_is_refused_where_messages_are_ordered(connection: Connection) -> None:
    with pytest.raises(Misused, match="which message ordering does not allow"):
        make_publisher(connection, Delivery(hedging=SOON), ordered=True)


def test_topic_that_grants_nothing_may_not_be_published_to(
    topics: Topics, connection: Connection
) -> None:
    topics.granted = ()
    with pytest.raises(Misused, match=r"grant roles/pubsub\.publisher"):
        PubSubTopics(connection).look(TOPIC)


def test_server_without_permissions_is_asked_for_the_topic(
    topics: Topics, connection: Connection
) -> None:
    topics.granted = None
    PubSubTopics(connection).look(TOPIC)
    with pytest.raises(NotFound, match="create the topic"):
        PubSubTopics(connection).look(f"{TOPIC}-gone")
