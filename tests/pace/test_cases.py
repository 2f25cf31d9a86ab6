"""What went wrong for others with rates, ramps and retries, as whole runs over the emulator.

The numbers in docstrings are those of the cases that the project keeps.
"""

import asyncio
import threading
from dataclasses import replace

import pytest

from injector.delivery.creator import CallingCreator, Delivery
from injector.delivery.ports import Outcome
from injector.delivery.verdict import CREATED
from injector.emulator.faults.latency import Latency
from injector.emulator.faults.plan import Effect, Fault
from injector.groups import Retry
from injector.pacing.backoff import Backoff
from injector.pacing.hedge import HedgingSettings
from injector.pacing.ramp import Ramp
from tests.pace.test_sick_queue import settled_once
from tests.pace.virtual_world import MINUTE_S, START, virtual_world

RAMP = Ramp(initial_rate=0.1, max_rate=2.0)


@pytest.fixture
def world():
    with virtual_world(ramp=RAMP) as made:
        yield made


def test_steps_change_the_rate_and_the_concurrency_and_nothing_else_of_a_queue(world):
    """B29."""
    (queue,) = world.group.injector_queues
    world.admin.set_queue(
        replace(world.admin.get_queue(queue), retry=Retry(7, 42.0, 3)),
        ("max_attempts", "max_backoff_s", "max_doublings"),
    )
    before = world.admin.get_queue(queue)
    world.submit(chunks=300)
    world.run(11)
    after = world.admin.get_queue(queue)
    assert after.rate == pytest.approx(RAMP.initial_rate * 1.5**2)
    assert after.retry == before.retry
    assert replace(after, rate=1, concurrency=1, burst=1) == replace(
        before, rate=1, concurrency=1, burst=1
    )


@pytest.mark.parametrize("by", [2.0, 0.5])
def test_rate_that_is_set_by_hand_at_step_six_is_never_leapt_from(world, by):
    """B30."""
    world.submit(chunks=3000)
    world.run(26)
    (queue,) = world.group.injector_queues
    before = world.rates[-1]
    assert before == pytest.approx(RAMP.initial_rate * 1.5**5)
    world.admin.update_rate(queue, rate=before * by)
    (tick,) = world.run(1)
    said = f"{tick.said.reason} {tick.said.notices}"
    assert f"someone set the injector queues to {before * by:g}/s" in said
    world.run(11)
    after = world.rates[world.rates.index(before) + 1 :]
    base = before if by > 1 else before * by
    assert all(rate <= base * 1.5**3 * 1.001 for rate in after)
    assert world.admin.get_queue(queue).rate <= max(before * by, after[-1])


def test_target_without_instances_in_the_first_minute_of_every_step_loses_no_task(world):
    """B37: 429 while it scales."""
    world.submit(chunks=300)
    world.target = lambda at: 429 if (at - START) % (5 * MINUTE_S) < MINUTE_S else 200
    world.finish()
    assert settled_once(world)
    assert world.excess() <= 0
    assert any("the target fails" in why for why in world.reasons)


def test_ticks_that_were_slept_through_are_not_caught_up(world):
    """B39: three are skipped at step two."""
    world.submit(chunks=900)
    world.run(6)
    rate = world.rates[-1]
    world.run_until(world.now + 3 * MINUTE_S)
    tick = world.tick()
    assert tick.rate <= 1.5 * rate
    world.run(4)
    assert world.rates[-1] <= rate * 1.5 * 1.001
    assert world.excess() <= 0


def test_two_ticks_of_one_second_take_one_step(world):
    """B40: a scheduler delivers at least once."""
    world.submit(chunks=300)
    world.run(5)
    first, second = world.tick(), world.tick()
    assert first.said.kind == "raise"
    assert second.said.kind == "hold"
    assert second.rate == first.rate == pytest.approx(0.15)


@pytest.mark.parametrize("attempts", [1, 3, 4])
def test_no_record_is_called_more_often_than_allowed_where_half_of_all_creates_fail(attempts):
    """B81: one layer retries, and a delivery that comes again brings as many calls at most."""
    delivery = Delivery(mode="single", backoff=Backoff(attempts=attempts))
    with virtual_world(ramp=RAMP, per_chunk=100, delivery=delivery) as world:
        half = Fault("half", Effect.ERROR, ("CreateTask",), "*/pace-*", rate=0.5)
        world.fault(half)
        for number in range(5):
            before = world.connection.elapsed_s
            results = world.creator.create_all(world.creates(number), budget_s=45.0)
            assert world.connection.elapsed_s - before <= 45.0 + 1
            left = sum(result.outcome is Outcome.NOT_TAKEN for result in results)
        ((_, met, _),) = world.parts.plan.counts()
        assert met <= 5 * 100 * attempts
        assert left > 0 if attempts == 1 else met > 5 * 100


def test_hedged_creates_leave_neither_calls_nor_threads_behind():
    """B80: p50 of 50 ms and 2 s for one in a hundred; losers end after the winner."""
    hedging = HedgingSettings(refill_ratio=0.05)
    delivery = Delivery(mode="single", hedging=hedging)
    with virtual_world(ramp=RAMP, per_chunk=100, delivery=delivery) as world:
        world.fault(
            Fault("usual", Effect.DELAY, ("CreateTask",), latency=Latency(median_s=0.05)),
            Fault("slow", Effect.DELAY, ("CreateTask",), rate=0.01, latency=Latency(fixed_s=2.0)),
        )
        world.creator.create_all(world.creates(0), budget_s=45.0)
        threads = set(threading.enumerate())
        for number in range(1, 15):
            results = world.creator.create_all(world.creates(number), budget_s=45.0)
            assert {each.outcome for each in results} <= {Outcome.CREATED, Outcome.EXISTED}
        signals = world.creator.drain_signals()
        (_, met, _), _ = world.parts.plan.counts()
        assert 0 < signals.hedges_sent <= hedging.refill_ratio * met
        assert signals.faulted == 0
        assert set(threading.enumerate()) <= threads
        assert world.connection.run(lambda _line: _tasks_left()) == 0


async def _tasks_left() -> int:
    return len(asyncio.all_tasks()) - 1


class Broken:
    """A sender that fails with what nobody foresaw, for one create of many."""

    async def send(self, call):
        if call.creates[0].task_id == "7":
            raise RuntimeError("nobody foresaw this")
        return [CREATED] * len(call.creates)


def test_what_a_worker_raises_reaches_whoever_waits_for_it(world):
    """B82: an error in one of many calls is not lost among the others."""
    creates = world.creates(0) * 25
    creator = CallingCreator(
        world.connection,
        lambda _line: Broken(),
        lambda all_: (((n,), (each,)) for n, each in enumerate(all_)),
    )
    broken = [type(each)(each.queue, str(n), each.url) for n, each in enumerate(creates)]
    with pytest.raises(RuntimeError, match="nobody foresaw this"):
        creator.create_all(broken, budget_s=5.0)
