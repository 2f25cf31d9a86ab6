"""What a tick makes of missed ticks, faults, other groups and what it is told of queues."""

from dataclasses import dataclass, field, replace

import pytest

from injector.control.feed import SOON_S
from injector.control.memory import Memory
from injector.control.standing import Standing
from injector.delivery.ports import Queue
from injector.errors import Misused
from injector.injector_task import parse_injector_task
from injector.ledger.ports import Chunks, JobState, Receipt, Wait
from tests.service.ticked import NOW, group_of


def test_missed_ticks_are_not_caught_up(world):
    world.add()
    world.run(4)
    world.pass_time(3600)
    rates = world.run(3)
    assert max(rates) <= 0.5


def test_a_finished_job_is_found_and_its_group_rests(world):
    world.add(chunks=10)
    world.tick()
    world.pass_time(60)
    tick = world.tick()["welcome"]
    assert tick.finished == ("job",)
    assert world.ledger.jobs.get("job").state is JobState.FINISHED
    assert tick.said.kind == "finish"


def test_a_group_without_work_asks_the_service_nothing(world):
    world.tick()
    assert world.queues.gets == 0


def test_a_paused_injector_queue_stops_the_feed_and_is_reported(world):
    world.add()
    name = group_of().injector_queues[1]
    world.queues.queues[name] = Queue(name, state="PAUSED")
    tick = world.tick()["welcome"]
    assert "paused" in tick.said.reason
    assert world.queues.created == {}


def test_one_groups_fault_keeps_no_other_group_from_its_tick(world):
    world.groups = ("welcome", "other")
    world.add("a")
    world.add("b", group="other")
    del world.queues.queues[group_of().injector_queues[0]]
    ticks = world.tick()
    assert group_of().injector_queues[0] in ticks["welcome"].said.fault
    assert ticks["other"].fed > 0


def test_what_kept_a_tick_from_all_it_wanted_is_kept_for_the_status(world):
    world.add()
    world.tick()
    del world.queues.queues[group_of().injector_queues[0]]
    world.tick()
    memory = Memory.from_json(world.ledger.groups.state("welcome").ramp_json)
    assert group_of().injector_queues[0] in memory.said.fault
    assert memory.ramp.rate == 0.5


def test_a_lack_of_time_hits_another_group_each_minute(world):
    world.groups = ("welcome", "other")
    world.add("a")
    world.add("b", group="other")
    fed_first = []
    for _ in range(2):
        left = iter([45.0] + [0.0] * 100)
        ticks = world.ticker().tick("me", time_left=lambda left=left: next(left))
        fed_first += [tick.group for tick in ticks if tick.fed]
        world.clock.time += 60
    assert sorted(fed_first) == ["other", "welcome"]


def test_faults_cut_the_rate_and_the_reason_is_recorded(world):
    world.add()
    world.run(7)
    world.faults = 0.2
    rates = world.run(4)
    assert rates[-1] < 0.75
    assert any(action == "cut" and "UNAVAILABLE" in why for action, why in world.decisions())


def test_what_was_seen_before_the_clock_was_set_back_is_left_out(world):
    world.add()
    world.run(7)
    world.faults = 0.2
    world.tick()
    world.pass_time(120)
    world.clock.time -= 3600
    tick = world.tick()["welcome"]
    assert (tick.said.kind, tick.rate) == ("hold", 0.75)
    assert "UNAVAILABLE" not in tick.said.reason


@dataclass
class Watching:
    """Says how a group's queues stand, or raises what it is told to."""

    answer: object
    asked: list[object] = field(default_factory=list)

    def look(self, queues, *, since, now):
        self.asked.append((queues, since, now))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_target_that_fails_holds_the_rate(world):
    world.add()
    world.run(5)
    failing = Watching(Standing({"OK": 900, "RESOURCE_EXHAUSTED": 100}))
    tick = world.tick(watcher=failing)["welcome"]
    assert (tick.rate, tick.said.reason) == (0.5, "the target fails 10.0% of its attempts")
    ((queues, since, now),) = failing.asked
    assert (queues, now) == (group_of().queues, world.clock.time)
    assert NOW <= since < now


def test_queues_that_are_behind_hold_the_rate(world):
    world.add()
    world.run(5)
    tick = world.tick(watcher=Watching(Standing(late_s=400.0)))["welcome"]
    assert (tick.rate, tick.said.reason) == (0.5, "the group's queues are 400 s behind")


def test_a_watcher_that_cannot_be_asked_is_noted_and_stops_nothing(world):
    world.add()
    world.run(5)
    away = Watching(Misused("grant roles/monitoring.viewer"))
    tick = world.tick(watcher=away)["welcome"]
    assert tick.rate == pytest.approx(0.75)
    assert tick.said.notices == ("grant roles/monitoring.viewer",)


def test_nobody_is_asked_of_a_group_without_work(world):
    watcher = Watching(Standing())
    world.tick(watcher=watcher)
    assert watcher.asked == []


@dataclass
class Odd:
    """An errand that meets what nobody expected in one group."""

    done: list[str] = field(default_factory=list)

    def run(self, group, **_given: object):
        if group.name == "welcome":
            raise ZeroDivisionError("by zero")
        self.done.append(group.name)
        yield "done"


def test_what_nobody_expected_in_a_group_keeps_no_other_from_its_tick_and_is_told(world):
    world.groups = ("welcome", "other")
    world.add("a")
    world.add("b", group="other")
    alarms, odd = [], Odd()
    broken = world.ledger.groups.state("welcome")
    world.ledger.groups.save(replace(broken, ramp_json="{}"), expected_version=0)
    ticks = world.tick(alarm=lambda group, error: alarms.append((group, error)), errands=[odd])
    assert ticks["other"].fed > 0
    assert ticks["other"].errands == ("done",)
    fault = ticks["welcome"].said.fault
    assert fault.startswith("unexpected ")
    assert [group for group, _ in alarms] == ["welcome", "welcome"]
    first, second = (error for _, error in alarms)
    assert type(first).__name__ in fault
    assert ticks["welcome"].errands == (
        "unexpected ZeroDivisionError: by zero; the log tells where",
    )
    assert second.__traceback__ is not None


def test_what_nobody_expected_is_kept_with_the_group_where_its_memory_can_be_read(world):
    world.add()
    world.tick()
    world.tick(watcher=Watching(KeyError("points")))
    kept = Memory.from_json(world.ledger.groups.state("welcome").ramp_json)
    assert kept.said.fault == "unexpected KeyError: 'points'; the log tells where"
    assert world.tick()["welcome"].said.fault == ""


def test_what_nobody_expected_is_in_the_ticks_answer_in_the_log_and_counted(house, caplog):
    kept = house.ledger.groups.state("welcome")
    house.ledger.groups.save(replace(kept, ramp_json="{}"), expected_version=0)
    answer = house.tick()
    assert answer.status_code == 200
    assert "unexpected " in answer.json["groups"][0]["fault"]
    (record,) = [each for each in caplog.records if each.event == "group.tick_failed"]
    assert (record.levelname, record.fields) == ("ERROR", {"group": "welcome"})
    assert record.exc_info[2] is not None
    assert 'injector_ticks_total{result="fault"} 1.0' in house.get("/metrics").text


def test_chunks_that_try_a_sick_queue_are_due_before_the_next_tick_judges_them(world):
    world.add()
    world.tick()
    world.pass_time(60)
    for chunk in range(200, 205):
        wait = Wait(group_of().queues[0], 0)
        world.ledger.receipts.merge(Receipt("job", chunk, 1), now=world.clock.time, wait=wait)
    now = world.clock.time
    world.tick()
    again = [c for c in world.queues.created.values() if c.body and tried_again(c)]
    assert [now <= create.schedule_time < now + SOON_S for create in again] == [True]


def tried_again(create):
    return parse_injector_task(create.body).generation == 1


@pytest.mark.parametrize(
    ("refuse", "taken", "state"), [(3, 0, "paused"), (3, 1, "running"), (2, 0, "running")]
)
def test_a_group_whose_queues_are_all_missing_is_told_of_before_half_of_them_were_met(
    world, refuse, taken, state
):
    queues = tuple(f"{group_of().queues[0]}-{n}" for n in range(40))
    groups = {"welcome": replace(group_of(), queues=queues)}
    world.add(chunks=50)
    world.ledger.jobs.advance("job", Chunks(0, 50, 0), scheduled_until=world.clock.time, now=NOW)
    for chunk, queue in enumerate(queues[:refuse]):
        missing = {"accepted": 100, "fan_outs": 1, f"sick.{queue}:NOT_FOUND": 100}
        receipt, wait = Receipt("job", chunk, 1), Wait(queue, 0)
        world.ledger.receipts.merge(receipt, now=world.clock.time, counts=missing, wait=wait)
    world.ledger.signals.add("welcome", {"accepted": taken}, now=world.clock.time)
    world.clock.time += 60
    world.tick(groups=groups)
    assert world.ledger.jobs.get("job").state == state
