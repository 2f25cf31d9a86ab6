"""The whole pacing over the emulator, with its faults, read off its own counters."""

from collections import Counter

import pytest

from injector.delivery.creator import Delivery
from injector.delivery.ports import Outcome
from injector.emulator.faults.latency import Latency
from injector.emulator.faults.plan import Effect, Fault
from injector.emulator.rpc import Code
from injector.emulator.state.dynamics import GENTLE
from injector.pacing.hedge import HedgingSettings
from injector.pacing.ramp import Ramp
from injector.simulation import Scenario, simulate
from tests.pace.virtual_world import MINUTE_S, START, WorldClock, virtual_world

RAMP = Ramp(initial_rate=0.1, max_rate=10.0)
CREATES = {"methods": ("CreateTask",), "queue": "*/pace-*"}


@pytest.fixture
def world_of():
    """Make a world; it is closed at the end."""
    contexts = []

    def make(ramp=RAMP, **options: object):
        contexts.append(virtual_world(ramp=ramp, **options))
        return contexts[-1].__enter__()

    yield make
    for context in contexts:
        context.__exit__(None, None, None)


def settled_once(world):
    """Tell whether every record has one task, was created in one way, and came once."""
    totals, records = world.totals, world.ledger.jobs.get("job-1").records
    return (
        totals.settled == records
        and totals.rejected == 0
        and world.tasks_made() == records
        and len(world.delivered) == records
        and set(world.delivered.values()) == {1}
    )


def test_a_healthy_group_climbs_step_by_step_to_a_hundred_times_its_first_rate(world_of):
    world = world_of(Ramp(initial_rate=0.02, max_rate=2.0), per_chunk=2)
    world.submit(chunks=2200)
    world.run(62)
    steps = [0.02 * 1.5**step for step in range(12)]
    assert world.rates == pytest.approx([*steps, 2.0])
    assert world.excess() <= 0
    minutes = world.dispatched()
    for step, rate in enumerate(steps):
        assert sum(minutes[5 * step : 5 * step + 5]) == pytest.approx(rate * 300, abs=2)
    assert world.calls("UpdateQueue").total() == len(world.rates)


def test_plan_simulation_and_emulator_agree(world_of):
    world = world_of()
    world.submit(chunks=400)
    world.finish()
    assert settled_once(world)
    simulated = simulate(Scenario(40_000, ramp=RAMP, until_s=7200.0))
    created = {row.t_s / 60: row.created / 100 for row in simulated.rows}
    dispatched = world.dispatched()
    for minute in range(1, 20):
        planned = RAMP.total_by(minute * 60)
        assert planned < 400
        assert sum(dispatched[:minute]) == pytest.approx(planned, abs=2)
        assert created[minute] == pytest.approx(planned, abs=2)
    done_s = RAMP.time_of(399)
    assert max(minute for minute, count in enumerate(dispatched) if count) == int(done_s / 60)
    assert simulated.created_s == pytest.approx(done_s, abs=2)


def test_a_fault_on_a_fifth_of_the_creates_cuts_the_rate_until_it_is_over(world_of):
    world = world_of(per_chunk=10)
    world.submit(chunks=1500)
    world.run(20)
    before = world.rates[-1]
    world.fault(Fault("outage", Effect.ERROR, rate=0.2, **CREATES))
    world.run(10)
    lowest = min(world.rates[-3:])
    (_, met, struck) = world.parts.plan.counts()[0]
    world.fault()
    world.finish()
    assert 0.1 < struck / met < 0.3
    assert lowest <= before / 2
    assert any(why.startswith("cut:") and "UNAVAILABLE" in why for why in world.reasons)
    assert max(world.rates) > before
    assert world.excess() <= 0
    assert settled_once(world)


def test_an_outage_of_half_of_all_creates_gets_a_third_of_the_load_of_plain_retry(world_of):
    """Plain retry would send two calls for each record that is offered meanwhile."""
    world = world_of(per_chunk=10, queues=1)
    world.submit(chunks=1000)
    world.run(20)
    rate = world.rates[-1]
    world.fault(Fault("outage", Effect.ERROR, rate=0.5, **CREATES))
    world.run(10)
    ((_, met, _),) = world.parts.plan.counts()
    world.fault()
    assert met <= 2 * 10 * rate * 600 / 3
    world.finish()
    assert settled_once(world)


@pytest.mark.parametrize("dynamics", [None, GENTLE])
def test_a_target_that_answers_429_holds_the_rate_until_it_recovers(world_of, dynamics):
    world = world_of(**({"dynamics": dynamics} if dynamics else {}))
    world.submit(chunks=800)
    sick = START + 12 * MINUTE_S, START + 22 * MINUTE_S
    world.target = lambda at: 429 if sick[0] <= at < sick[1] else 200
    world.run(12)
    world.run(2)
    held = world.rates[-1]
    world.run(8)
    assert world.rates[-1] == held
    assert any("the target fails" in why for why in world.reasons)
    world.finish()
    assert max(world.rates) > held
    assert world.excess() <= 0
    assert settled_once(world)


def test_an_hour_without_controller_is_not_caught_up(world_of):
    world = world_of()
    world.submit(chunks=900)
    world.run(22)
    before = world.rates[-1]
    fed = sum(world.dispatched())
    world.run_until(world.now + 3600)
    assert sum(world.dispatched()) - fed <= before * 1.5 * 180 + 2
    world.run(6)
    assert world.rates[-1] <= 1.5 * RAMP.initial_rate
    assert any("idle for" in why for why in world.reasons)
    world.finish()
    assert world.excess() <= 0
    assert settled_once(world)


@pytest.mark.parametrize("everywhere", [True, False], ids=["all clocks", "controller's clock"])
def test_a_clock_that_is_set_back_changes_no_rate_and_loses_nothing(world_of, everywhere):
    world = world_of()
    world.submit(chunks=500)
    world.run(22)
    before = world.rates[-1]
    clock = WorldClock(world, skew_s=-3600.0)
    if everywhere:
        world.clock.skew_s = -3600.0
    first = world.tick(clock)
    assert (first.rate, first.said.kind) == (before, "hold")
    assert any("set back" in notice for notice in first.said.notices)
    world.run_until(world.now + 60)
    for _ in range(120):
        world.run(1, clock)
        if world.ledger.jobs.get("job-1").finished_at:
            break
    assert world.excess() <= 0
    world.run_until(world.now + 60)
    assert settled_once(world)


@pytest.mark.parametrize("skew_s", [0.0, 20.0])
def test_two_controllers_that_tick_twice_each_are_as_one(world_of, skew_s):
    """Their clocks may differ; the ramp goes by the one that is ahead."""
    world = world_of()
    other = WorldClock(world, skew_s=skew_s)
    world.submit(chunks=600)
    for minute in range(1, 27):
        for clock in (world.clock, other, other, world.clock):
            world.tick(clock)
        world.run_until(START + MINUTE_S * minute)
    assert world.rates == pytest.approx([RAMP.initial_rate * 1.5**step for step in range(6)])
    world.finish()
    assert world.excess() <= 0
    assert settled_once(world)


class Stalled:
    """A controller's view of the queues that stands still in the midst of its first update."""

    def __init__(self, world, meanwhile) -> None:
        self._world = world
        self._meanwhile = meanwhile
        self.stalled = False

    def __getattr__(self, name) -> object:
        return getattr(self._world.admin, name)

    def update_rate(self, queue, *, rate, concurrency):
        if not self.stalled:
            self.stalled = True
            self._meanwhile()
        return self._world.admin.update_rate(queue, rate=rate, concurrency=concurrency)


@pytest.mark.parametrize(
    ("stall_s", "second"), [(20.0, "waits"), (100.0, "takes over")], ids=["briefly", "too long"]
)
def test_a_controller_that_stalls_in_mid_step_makes_no_second_step(world_of, stall_s, second):
    world = world_of()
    world.submit(chunks=300)
    world.run(10)
    before = world.rates[-1]
    others = []

    def meanwhile():
        world.run_until(world.now + stall_s)
        others.append(world.tick())

    ticker = world.ticker()
    object.__setattr__(ticker, "queues", Stalled(world, meanwhile))
    (stalled,) = ticker.tick("stalled", time_left=lambda: 45.0)
    if second == "waits":
        assert others == [None]
    else:
        assert others[0].rate == pytest.approx(before * 1.5)
        assert "another tick was quicker" in stalled.said.fault
    world.run(4)
    assert world.rates[-1] == pytest.approx(before * 1.5)
    assert world.excess() <= 0


SLOW = Fault("slow", Effect.DELAY, rate=0.01, latency=Latency(fixed_s=2.0), methods=("CreateTask",))
USUAL = Fault(
    "usual",
    Effect.DELAY,
    latency=Latency(median_s=0.05, sigma=0.3),
    methods=("CreateTask",),
)


def fan_out_times(world, fan_outs=100):
    """Return how long fan-outs take, and how many calls the emulator met for each create.

    The first ten do not count: what the p95 is has to be learnt.
    """
    world.fault(USUAL, SLOW)
    took = []
    for number in range(fan_outs + 10):
        before = world.connection.elapsed_s
        creates = world.creates(number)
        results = world.creator.create_all(creates, budget_s=45.0)
        assert {result.outcome for result in results} <= {Outcome.CREATED, Outcome.EXISTED}
        took.append(world.connection.elapsed_s - before)
    (_, met, _), (_, _, slow) = world.parts.plan.counts()
    assert slow > fan_outs / 2
    return sorted(took[10:]), met / (len(took) * world.per_chunk)


def test_hedging_shortens_the_slowest_fan_outs_for_a_tenth_of_the_calls_at_most(world_of):
    plain, once = fan_out_times(world_of(per_chunk=100))
    hedged_world = world_of(
        per_chunk=100, delivery=Delivery(mode="single", hedging=HedgingSettings(follow_p95=True))
    )
    hedged, calls = fan_out_times(hedged_world)
    assert once == 1.0
    assert 1.0 < calls <= 1.1
    assert hedged_world.creator.drain_signals().hedges_won > 0
    assert plain[len(plain) // 2] > 2.0
    assert hedged[int(0.99 * len(hedged))] < 0.25 * plain[int(0.99 * len(plain))]


def fanned_out(world, number):
    creates = world.creates(number)
    return creates, world.creator.create_all(creates, budget_s=45.0)


def test_nine_queues_of_ten_keep_their_rate_while_the_tenth_refuses_every_create(world_of):
    world = world_of(queues=10, per_chunk=100)
    sick, *others = world.group.queues
    world.fault(Fault("sick", Effect.ERROR, queue=sick, code=Code.RESOURCE_EXHAUSTED))
    wanted, made = Counter(), Counter()
    for number in range(50):
        for create, result in zip(*fanned_out(world, number), strict=True):
            wanted[create.queue] += 1
            made[create.queue] += result.outcome is Outcome.CREATED
        world.run_until(world.now + 1)
    assert all(made[name] > 0.95 * wanted[name] > 0 for name in others)
    assert world.creator.drain_signals().local_rejects > 0.3 * wanted[sick]
    assert world.calls("CreateTask")["RESOURCE_EXHAUSTED"] < 0.7 * wanted[sick]
