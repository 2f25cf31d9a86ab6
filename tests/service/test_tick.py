"""A tick raises the rate on the curve, tells the queues, and is one at a time."""

from dataclasses import dataclass, field

import pytest

from injector.control.turn import LEASE
from injector.errors import Misused, Retryable
from tests.service.ticked import CountedQueues, group_of


def test_a_healthy_group_climbs_by_half_every_5_minutes(world):
    world.add()
    rates = world.run(17)
    assert rates[:5] == [0.5] * 5
    assert sorted(set(rates)) == pytest.approx([0.5, 0.75, 1.125, 1.6875])
    assert all(rates.count(rate) >= 5 for rate in sorted(set(rates))[:-1])


def test_the_injector_queues_share_the_rate(world):
    world.add()
    world.tick()
    assert [queue.rate for queue in world.queues.queues.values()][:2] == [0.25, 0.25]


def test_queues_are_told_only_of_changes(world):
    world.add()
    world.run(5)
    assert len(world.queues.updates) == 2


def test_a_queue_whose_change_was_lost_is_told_again(world):
    world.add()
    broken = Breaking(world.queues, after=1)
    world.tick(queues=broken)
    world.tick()
    assert [queue for queue, _, _ in world.queues.updates] == list(group_of().injector_queues)
    assert {queue.rate for queue in list(world.queues.queues.values())[:2]} == {0.25}


@dataclass
class Breaking:
    """Queues whose administration ends after some updates."""

    queues: object
    after: int
    error: Exception = field(default_factory=lambda: Retryable("UpdateQueue: UNAVAILABLE"))

    def __getattr__(self, name) -> object:
        return getattr(self.queues, name)

    def update_rate(self, queue, *, rate, concurrency):
        self.after -= 1
        if self.after < 0:
            raise self.error
        return self.queues.update_rate(queue, rate=rate, concurrency=concurrency)


def test_a_controller_that_may_not_set_the_rate_feeds_nothing_and_says_why(world):
    world.add()
    denied = Breaking(world.queues, 0, Misused("UpdateQueue …: grant roles/cloudtasks.queueAdmin"))
    tick = world.tick(queues=denied)["welcome"]
    assert "queueAdmin" in tick.said.fault
    assert world.queues.created == {}


def test_a_doubled_tick_changes_nothing(world):
    world.add()
    world.tick()
    before = (set(world.queues.created), list(world.queues.updates))
    again = world.tick()["welcome"]
    assert (again.fed, again.rate) == (0, 0.5)
    assert (set(world.queues.created), list(world.queues.updates)) == before


def test_only_one_tick_runs_at_a_time(world):
    world.add()
    world.ledger.leases.acquire(LEASE, "another", now=world.clock.now(), ttl_s=60)
    assert world.ticker().tick("me", time_left=lambda: 45.0) is None
    assert world.queues.created == {}


def test_a_tick_that_died_holds_its_turn_no_longer_than_its_lease(world):
    class Killed(BaseException):
        pass

    class Dying(CountedQueues):
        def get_queue(self, _):
            raise Killed

    world.add()
    with pytest.raises(Killed):
        world.tick(queues=Dying(), ledger=KilledLedger(world.ledger))
    assert world.ticker().tick("next", time_left=lambda: 45.0) is None
    world.clock.time += 30
    assert world.tick()["welcome"].fed > 0


@pytest.mark.parametrize(("step_s", "ticked"), [(11.0, ["welcome", "other"]), (31.0, ["welcome"])])
def test_a_tick_keeps_its_turn_as_long_as_it_goes_on(world, step_s, ticked):
    """One that stood still for longer than its turn leaves the rest to who has taken it."""
    begun = []

    class Slow(CountedQueues):
        def get_queue(self, queue):
            world.clock.time += step_s / 2
            begun.append(
                world.ledger.leases.acquire(LEASE, "another", now=world.clock.now(), ttl_s=30)
            )
            return super().get_queue(queue)

    world.groups = ("welcome", "other")
    world.clock.time = 60.0 * (world.clock.time // 120 * 2)
    for group in world.groups:
        world.add(f"job-{group}", group=group)
    assert list(world.tick(queues=Slow())) == ticked
    assert any(begun) == (len(ticked) == 1)


def test_a_tick_gives_its_turn_back(world):
    world.tick()
    assert world.ledger.leases.acquire(LEASE, "another", now=world.clock.now(), ttl_s=60)


def test_a_slower_tick_drops_its_decision(world):
    world.add()
    tick = world.tick(ledger=OvertakenLedger(world.ledger))["welcome"]
    assert "another tick was quicker" in tick.said.fault
    assert world.queues.created == {}


@dataclass
class KilledLedger:
    """A ledger whose turns are not given back: a process that was killed has no last word."""

    ledger: object

    def __getattr__(self, name) -> object:
        return self if name == "leases" else getattr(self.ledger, name)

    def acquire(self, *turn: object, **until: object):
        return self.ledger.leases.acquire(*turn, **until)

    def release(self, *_: object):
        pass


@dataclass
class OvertakenLedger:
    """A ledger in which someone else always saves the ramp first."""

    ledger: object

    def __getattr__(self, name) -> object:
        return self if name == "groups" else getattr(self.ledger, name)

    def state(self, group):
        return self.ledger.groups.state(group)

    def save(self, state, *, expected_version, decision):
        self.ledger.groups.save(state, expected_version=expected_version)
        return self.ledger.groups.save(state, expected_version=expected_version, decision=decision)
