"""How a tick spaces its updates, and what it keeps for the status."""

from dataclasses import dataclass

import pytest

from injector.control.memory import Memory
from injector.delivery.ports import Queue
from injector.groups import Group
from tests.service.ticked import PARENT, RAMP, group_of


@dataclass
class Wide:
    """A group of many injector queues."""

    queues: int

    def group(self):
        names = tuple(f"{PARENT}/wide-{number}" for number in range(self.queues))
        return {"wide": Group("wide", names, (f"{PARENT}/x",), None, RAMP)}

    def add_to(self, world):
        for name in self.group()["wide"].injector_queues:
            world.queues.queues[name] = Queue(name)
        world.add(group="wide")


def test_updates_of_many_queues_are_spaced(world):
    wide = Wide(35)
    wide.add_to(world)
    before = world.clock.time
    world.tick(groups=wide.group())
    assert len(world.queues.updates) == 35
    assert world.clock.time - before == pytest.approx(2.5, abs=0.11)


def test_queues_that_there_was_no_time_for_are_told_by_the_next_tick(world):
    wide = Wide(30)
    wide.add_to(world)
    ticker = world.ticker(groups=wide.group())
    until = world.clock.time + 1
    (tick,) = ticker.tick("me", time_left=lambda: until - world.clock.time)
    assert "time for setting" in tick.said.fault
    assert 10 <= len(world.queues.updates) < 30
    world.tick(groups=wide.group())
    assert sorted(name for name, _, _ in world.queues.updates) == sorted(
        wide.group()["wide"].injector_queues
    )


def test_a_decision_that_says_the_same_is_recorded_once(world):
    world.add()
    world.run(5)
    assert [action for action, _ in world.decisions()] == ["start", "hold"]


def test_a_step_about_to_come_due_is_waited_for(world):
    world.add()
    for _ in range(5):
        world.tick()
        world.pass_time(60)
    world.clock.time -= 1
    before = world.clock.time
    assert world.tick()["welcome"].rate == pytest.approx(0.75)
    assert world.clock.time == pytest.approx(before + 1)


def test_the_last_word_and_its_fault_are_kept_for_the_status(world):
    world.add()
    world.queues.unseen.add(group_of().injector_queues[1])
    world.tick()
    memory = Memory.from_json(world.ledger.groups.state("welcome").ramp_json)
    assert memory.said.kind == "start"
    assert group_of().injector_queues[1] in memory.said.fault


def test_memory_of_a_group_is_read_back_as_written(world):
    world.add()
    world.run(2)
    text = world.ledger.groups.state("welcome").ramp_json
    assert Memory.from_json(text).to_json() == text
    assert Memory.from_json("") == Memory()
