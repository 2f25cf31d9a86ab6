"""Delivery: leases, acknowledgements, redelivery and order, by the raw client in frozen time."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from injector.emulator.state.subscription import Message, Subscription, Terms
from tests.emulator.direct import Direct, refused
from tests.emulator.pubsub import SUBSCRIPTION, Clients, direct_clients


@pytest.fixture
def clients(direct: Direct) -> Clients:
    clients = direct_clients(direct.parts)
    clients.topic()
    return clients


def test_a_message_is_away_until_its_deadline_and_then_delivered_again(direct, clients):
    clients.subscription()
    clients.publish("x")
    first = clients.pull()
    direct.advance(9.9)
    assert clients.texts() == []
    direct.advance(0.1)
    again = clients.pull()
    assert [each.message.data for each in again] == [b"x"]
    assert again[0].ack_id != first[0].ack_id


def test_an_acknowledged_message_does_not_come_back(direct, clients):
    clients.subscription()
    clients.publish("x", "y")
    clients.acknowledge(clients.pull()[0])
    direct.advance(10)
    assert clients.texts() == ["y"]


def test_an_acknowledgement_that_comes_too_late_changes_nothing(direct, clients):
    clients.subscription()
    clients.publish("x")
    late = clients.pull()
    direct.advance(10)
    clients.acknowledge(*late)
    assert clients.texts() == ["x"]


def test_a_lease_is_extended_or_given_back(direct, clients):
    clients.subscription()
    clients.publish("x")
    held = clients.pull()
    clients.extend(*held, seconds=60)
    direct.advance(59)
    assert clients.texts() == []
    clients.extend(*held, seconds=0)
    assert clients.texts() == ["x"]


@pytest.mark.parametrize("ack_id", ["", "x", "s1-9-1", "s2-1-1"])
def test_an_ack_id_that_was_never_given_out_is_refused(clients, ack_id):
    clients.subscription()
    clients.publish("x")
    clients.pull()
    with refused("INVALID_ARGUMENT", "You have passed an invalid ack ID to the service"):
        clients.subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=[ack_id])


def test_a_deadline_beyond_ten_minutes_is_refused(clients):
    clients.subscription()
    clients.publish("x")
    with refused("INVALID_ARGUMENT", "maximum value is 600"):
        clients.extend(*clients.pull(), seconds=601)


def test_a_pull_of_nothing_is_refused(clients):
    clients.subscription()
    with refused("INVALID_ARGUMENT", "max_messages is too small"):
        clients.pull(0)


def test_of_an_ordering_key_nothing_is_delivered_before_what_was_is_acknowledged(clients):
    clients.subscription(enable_message_ordering=True)
    clients.publish("a1", "a2", key="a")
    clients.publish("b1", key="b")
    first = clients.pull(1)
    assert [each.message.data for each in first] == [b"a1"]
    assert clients.texts() == ["b1"]
    clients.acknowledge(*first)
    assert clients.texts() == ["a2"]


def test_a_message_given_back_takes_those_after_it_of_its_key_along(clients):
    clients.subscription(enable_message_ordering=True)
    clients.publish("a1", "a2", "a3", key="a")
    held = clients.pull()
    clients.acknowledge(held[0])
    clients.extend(held[1], seconds=0)
    assert clients.texts() == ["a2", "a3"]


def test_without_ordering_a_key_holds_nothing_back(clients):
    clients.subscription()
    clients.publish("a1", "a2", key="a")
    assert [clients.texts(1), clients.texts(1)] == [["a1"], ["a2"]]


def test_a_message_is_dropped_at_the_end_of_its_retention(direct, clients):
    clients.subscription(message_retention_duration={"seconds": 600})
    clients.publish("x")
    direct.advance(599)
    direct.parts.pubsub.keep_house()
    assert len(clients.pull()) == 1
    direct.advance(10)
    direct.parts.pubsub.keep_house()
    assert clients.texts() == []


class Reader:
    """A subscriber of one ordered subscription that takes, acknowledges and gives back."""

    def __init__(self) -> None:
        self.subscription = Subscription("s", 1, Terms(ordered=True))
        self.published: list[Message] = []
        self.done: list[Message] = []
        self.now = 0.0
        self._holds: list[tuple[str, Message]] = []

    def publish(self, number: int) -> None:
        message = Message(str(len(self.published)), b"x", f"k{number % 3}", self.now)
        self.published.append(message)
        self.subscription.add(message)

    def take(self, number: int) -> None:
        taken = self.subscription.take(now=self.now, most=number + 1)
        self._holds.extend((held.ack_id, held.message) for held in taken)

    def wait(self, number: int) -> None:
        self.now += number

    def acknowledge(self, _number: int) -> None:
        """Acknowledge the longest held; too late, and it stays in the backlog."""
        if self._holds:
            ack_id, message = self._holds.pop(0)
            before = self.subscription.backlog
            self.subscription.acknowledge(ack_id, now=self.now)
            self.done += [message] * (before - self.subscription.backlog)

    def give_back(self, _number: int) -> None:
        if self._holds:
            self.subscription.extend(self._holds.pop(0)[0], 0, now=self.now)

    def finish(self) -> None:
        """Read on until nothing is left."""
        while self.subscription.backlog:
            self.now += 10
            self.take(1000)
            while self._holds:
                self.acknowledge(0)


STEPS = st.tuples(
    st.sampled_from(["publish", "take", "acknowledge", "give_back", "wait"]), st.integers(0, 9)
)


@example([("publish", 0), ("take", 0), ("wait", 1), ("wait", 9), ("acknowledge", 0)])
@given(st.lists(STEPS, max_size=60))
def test_nothing_is_lost_and_keys_are_acknowledged_in_their_order(steps):
    reader = Reader()
    for step, number in steps:
        getattr(reader, step)(number)
    reader.finish()
    assert sorted(reader.done, key=lambda one: int(one.id)) == reader.published
    for key in ("k0", "k1", "k2"):
        of_key = [int(message.id) for message in reader.done if message.key == key]
        assert of_key == sorted(of_key)
    assert reader.subscription.bytes == 0
