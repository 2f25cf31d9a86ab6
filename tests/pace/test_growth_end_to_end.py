"""A group that is given more queues while a job runs, over the emulator and its own counters."""

import math
from contextlib import ExitStack

import pytest

from injector.emulator.faults.plan import Effect, Fault
from injector.pacing.ramp import Ramp
from tests.pace.law import excess
from tests.pace.virtual_world import QUEUES, virtual_world

WARM = Ramp(initial_rate=0.3, max_rate=1.0, warm_rate=1.0)
PER_CHUNK = 2
OLD = tuple(f"{QUEUES}/pace-{number:02d}" for number in range(4))
NEW = tuple(f"{QUEUES}/pace-{number:02d}" for number in range(4, 8))
BETWEEN = tuple(f"{QUEUES}/pace-{number:02d}a" for number in (0, 2))


@pytest.fixture
def world_of():
    """Make a world; it is closed at the end."""
    with ExitStack() as stack:
        yield lambda ramp=WARM: stack.enter_context(virtual_world(ramp=ramp, per_chunk=PER_CHUNK))


@pytest.fixture
def world(world_of):
    return world_of()


def came_once(world):
    totals, records = world.totals, world.ledger.jobs.get("job-1").records
    return (
        totals.settled == records
        and totals.rejected == 0
        and world.tasks_made() == records
        and set(world.delivered.values()) == {1}
        and len(world.delivered) == records
    )


def test_new_queues_together_climb_from_the_first_rate_to_their_even_share(world):
    world.submit(chunks=1400)
    world.run(5)
    world.configure(OLD + NEW)
    world.run(16)
    new, old = world.dispatched(NEW), world.dispatched(OLD)
    noise = 4 * math.sqrt(1.5 * max(sum(new[at : at + 5]) for at in range(len(new) - 5)))
    assert sum(new[:5]) == 0
    assert 0 < sum(new[5:10]) <= WARM.initial_rate * PER_CHUNK * 300 + noise
    assert excess(new, first_rate=WARM.initial_rate * PER_CHUNK) <= noise
    assert sum(new[-6:-1]) == pytest.approx(sum(old[-6:-1]), rel=0.3)


def test_queues_that_sort_between_warm_ones_have_their_share_at_once(world):
    world.submit(chunks=600)
    world.run(2)
    world.configure(OLD + BETWEEN)
    world.run(8)
    each = [sum(world.dispatched([name])[6:10]) for name in OLD + BETWEEN]
    assert min(each) > sum(each) / 6 * 0.6
    world.finish()
    assert came_once(world)


def test_a_second_round_between_the_queues_waits_for_its_five_minutes(world):
    world.submit(chunks=800)
    world.run(1)
    world.configure(OLD + BETWEEN)
    world.run(1)
    more = tuple(f"{QUEUES}/pace-{number:02d}a" for number in (1, 3))
    world.configure(OLD + BETWEEN + more)
    ticks = world.run(4)
    assert all("new queues waiting" in " ".join(tick.said.notices) for tick in ticks[:3])
    assert sum(world.dispatched(more)) == 0
    world.run(5)
    assert sum(world.dispatched(more)) > 0


def test_nothing_doubles_while_old_and_new_controllers_take_turns_and_answers_are_lost(world):
    world.submit(chunks=660)
    lost = {"methods": ("CreateTask",), "queue": "*/pace-*"}
    world.run(2)
    world.fault(Fault("lost", Effect.LOST, rate=0.2, **lost))
    for _ in range(4):
        world.configure(OLD + NEW)
        world.run(1)
        world.configure(OLD)
        world.run(1)
    world.configure(OLD + NEW)
    world.run(2)
    world.fault()
    world.finish()
    assert sum(world.dispatched(NEW)) > 0
    assert came_once(world)


def test_a_group_whose_queues_are_all_new_begins_at_its_first_rate(world_of):
    world = world_of(Ramp(initial_rate=0.3, max_rate=1.0))
    world.submit(chunks=600)
    world.run(7)
    assert world.rates[-1] > 0.4
    world.configure(NEW)
    world.run(1)
    assert world.rates[-1] == 0.3
