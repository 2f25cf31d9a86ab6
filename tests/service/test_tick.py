from dataclasses import dataclass, field

import pytest

from injector.control.feed import Call, Feeder
from injector.control.memory import Memory
from injector.control.standing import Standing
from injector.control.tick import Ticker
from injector.control.turn import LEASE
from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import Queue, TaskTemplate
from injector.errors import Misused, Retryable
from injector.groups import Group
from injector.injector_task import parse_injector_task
from injector.ledger import open_ledger
from injector.ledger.ports import JobState, NewJob, Receipt
from injector.pacing.ramp import Ramp
from injector.pacing.signals import Tally

NOW = 1_000_020.0
PARENT = "projects/p/locations/l/queues"
RAMP = Ramp(initial_rate=0.5)


def group_of(name="welcome"):
    return Group(name, (f"{PARENT}/{name}-0", f"{PARENT}/{name}-1"), (f"{PARENT}/x",), None, RAMP)


@dataclass
class Clock:
    time: float = NOW

    def now(self):
        return self.time

    def monotonic(self):
        return self.time

    def sleep(self, seconds):
        self.time += seconds


class CountedQueues(MemoryQueues):
    """Queues that note who asked for what."""

    def __init__(self) -> None:
        super().__init__(
            Queue(name)
            for group in ("welcome", "other")
            for name in group_of(group).injector_queues
        )
        self.updates = []
        self.gets = 0

    def get_queue(self, queue):
        self.gets += 1
        return super().get_queue(queue)

    def update_rate(self, queue, *, rate=None, concurrency=None):
        self.updates.append((queue, rate, concurrency))
        return super().update_rate(queue, rate=rate, concurrency=concurrency)


@dataclass
class World:
    """A controller over queues that dispatch on time, and fan-outs that succeed unless told."""

    ledger: object
    queues: CountedQueues = field(default_factory=CountedQueues)
    clock: Clock = field(default_factory=Clock)
    groups: tuple[str, ...] = ("welcome",)
    faults: float = 0.0
    dispatched: set[str] = field(default_factory=set)

    def ticker(self, **changes: object):
        call = Call("https://injector.example/inject", TaskTemplate())
        feeder = Feeder(self.ledger.jobs, self.queues, call)
        parts = {
            "groups": {name: group_of(name) for name in self.groups},
            "ledger": self.ledger,
            "queues": self.queues,
            "feeder": feeder,
            "clock": self.clock,
        }
        return Ticker(**(parts | changes))

    def add(self, job="job", chunks=10_000, group="welcome"):
        new = NewJob(job, group, "{}", "memory:", chunks, chunks, "d")
        self.ledger.jobs.register(new, now=self.clock.now())

    def tick(self, **changes: object):
        ticks = self.ticker(**changes).tick("me", time_left=lambda: 45.0)
        return {tick.group: tick for tick in ticks}

    def pass_time(self, seconds):
        """Let the queues dispatch what is due meanwhile."""
        until = self.clock.time + seconds
        due = [
            (create.schedule_time, name, parse_injector_task(create.body))
            for name, create in self.queues.created.items()
            if name not in self.dispatched and create.schedule_time <= until
        ]
        for at, name, task in sorted(due):
            self.dispatched.add(name)
            self.settle(task, at)
        self.clock.time = until

    def settle(self, task, at):
        tally = Tally()
        tally.answered(creates=round(100 * (1 - self.faults)))
        if self.faults:
            tally.faulted("UNAVAILABLE", creates=round(100 * self.faults))
        tally.fanned_out(0.2, deferred=False)
        tally.called(0.01)
        receipt = Receipt(task.job, task.chunk, 1, created_mask=1)
        self.ledger.receipts.merge(receipt, now=at, counts=tally.drain().to_counts())

    def run(self, minutes):
        """Tick each minute, and return the rate after each tick."""
        rates = []
        for _ in range(minutes):
            rates.append(self.tick()["welcome"].rate)
            self.pass_time(60)
        return rates

    def decisions(self):
        return [(each.action, each.reason) for each in self.ledger.groups.decisions("welcome")][
            ::-1
        ]


@pytest.fixture
def world():
    world = World(open_ledger("sqlite://"))
    yield world
    world.ledger.close()


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
    world.queues.queues.pop(group_of().injector_queues[1])
    world.queues.get_queue = Queue
    world.queues.update_rate = lambda name, rate, concurrency: Queue(
        name, rate=rate, concurrency=concurrency
    )
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
