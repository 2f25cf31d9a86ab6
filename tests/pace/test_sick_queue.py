"""One queue of a group takes nothing: the others go on, and nothing is lost or doubled."""

from dataclasses import replace

import pytest

from injector.control.memory import Memory
from injector.control.sickness import GROWTH
from injector.emulator.faults.plan import Effect, Fault
from injector.emulator.rpc import Code
from injector.ledger.ports import JobState
from injector.pacing.ramp import Ramp
from tests.pace.virtual_world import MANIFEST, virtual_world

RAMP = Ramp(initial_rate=0.2, max_rate=0.45)
CODES = [Code.RESOURCE_EXHAUSTED, Code.UNAVAILABLE, Code.PERMISSION_DENIED, Code.NOT_FOUND]


@pytest.fixture
def world():
    with virtual_world(ramp=RAMP, queues=5, per_chunk=20) as made:
        yield made


@pytest.fixture
def in_batches():
    manifest = f"{MANIFEST}create_mode: batch\n"
    with virtual_world(ramp=RAMP, queues=5, per_chunk=20, manifest=manifest) as made:
        yield made


def run_afresh(world, minutes):
    """Fan out in another process each minute."""
    for _ in range(minutes):
        world.start_afresh()
        world.run(1)


def made_in(world, queues):
    return sum(world.begun[name] for name in queues)


def refuse(world, code, *queues: str):
    world.fault(*(Fault(name, Effect.ERROR, ("CreateTask",), name, code=code) for name in queues))


def settled_once(world):
    totals, records = world.totals, world.ledger.jobs.get("job-1").records
    return (
        totals.created + totals.existed == records == len(world.delivered)
        and world.tasks_made() == records
        and set(world.delivered.values()) == {1}
    )


@pytest.mark.parametrize("code", CODES)
def test_the_others_go_on_at_their_rate_and_its_tasks_come_once_it_recovers(world, code):
    sick, *others = world.group.queues
    world.submit(chunks=300)
    world.run(4)
    refuse(world, code, sick)
    before = made_in(world, others)
    world.run(10)
    tries = 10
    fed = sum(world.dispatched()[4:14]) - tries
    assert fed > 0.9 * 10 * 60 * RAMP.initial_rate
    assert made_in(world, others) - before > 0.95 * fed * 20 * 4 / 5
    assert world.ledger.jobs.get("job-1").state is JobState.RUNNING
    assert world.rates[:2] == pytest.approx([0.2, 0.3])
    assert world.rates == sorted(world.rates)
    (notice,) = world.tick().said.notices
    assert notice.startswith(f"{sick} takes nothing for 1")
    assert code.name in notice
    world.fault()
    world.finish()
    assert settled_once(world)
    assert world.excess() <= 0


def test_records_of_a_queue_that_stays_sick_are_open_and_the_queue_is_named(world):
    sick, *others = world.group.queues
    world.submit(chunks=60)
    refuse(world, Code.UNAVAILABLE, sick)
    world.run(40)
    totals = world.totals
    assert world.ledger.jobs.get("job-1").state is JobState.RUNNING
    assert made_in(world, others) == totals.created == totals.settled
    assert totals.waiting + totals.chunks_settled == 60
    assert world.ledger.jobs.waits_for("job-1") == [sick]
    calls = world.calls("CreateTask").total()
    world.run(20)
    assert world.calls("CreateTask").total() - calls < 20 * 20
    assert world.totals.created == totals.created


def test_an_outage_of_the_whole_group_still_cuts_the_rate(world):
    world.submit(chunks=300)
    world.run(10)
    before = world.rates[-1]
    refuse(world, Code.UNAVAILABLE, *world.group.queues)
    world.run(5)
    assert world.rates[-1] < before
    assert world.totals.waiting < 5
    world.fault()
    world.finish()
    assert settled_once(world)


def kept(world):
    """Return what the controller knows of the one sick queue."""
    (sick,) = Memory.from_json(world.ledger.groups.state(world.group.name).ramp_json).sick
    return sick


def test_what_waits_does_not_go_at_once_after_the_injector_queue_stood_still(world):
    (injector_queue,) = world.group.injector_queues
    world.submit(chunks=60)
    refuse(world, Code.UNAVAILABLE, world.group.queues[0])
    world.run(20)
    world.admin.pause_queue(injector_queue)
    world.run(40)
    assert kept(world).tries <= GROWTH
    world.admin.resume_queue(injector_queue)
    waiting = world.totals.waiting
    assert waiting > 20
    world.tick()
    assert world.totals.waiting >= waiting - GROWTH


def test_a_tick_that_comes_twice_lets_nothing_go_twice(world):
    world.submit(chunks=60)
    refuse(world, Code.UNAVAILABLE, world.group.queues[0])
    world.run(20)
    world.tick()
    known, waiting = kept(world), world.totals.waiting
    world.tick()
    assert world.totals.waiting == waiting > 20
    assert replace(kept(world), seen=known.seen) == known


def test_a_job_that_waits_is_resumed_as_it_was_after_a_pause(world):
    sick, *_ = world.group.queues
    world.submit(chunks=60)
    refuse(world, Code.NOT_FOUND, sick)
    world.run(4)
    world.ledger.jobs.set_state("job-1", JobState.PAUSED, "", now=world.now)
    waiting = world.totals.waiting
    world.run(10)
    assert world.totals.waiting >= waiting > 0
    world.ledger.jobs.set_state("job-1", JobState.RUNNING, "", now=world.now)
    world.fault()
    world.finish()
    assert settled_once(world)


def test_one_missing_queue_pauses_no_job_whose_chunks_have_one_queue_each(in_batches):
    world = in_batches
    sick, *others = world.group.queues
    world.submit(chunks=60)
    refuse(world, Code.NOT_FOUND, sick)
    run_afresh(world, 12)
    assert world.ledger.jobs.get("job-1").state is JobState.RUNNING
    assert world.ledger.jobs.waits_for("job-1") == [sick]
    assert made_in(world, others) == world.totals.created > 0
    world.fault()
    world.finish()
    assert settled_once(world)


def test_a_job_whose_chunks_have_one_missing_queue_each_is_paused_till_they_are_mended(in_batches):
    world = in_batches
    world.submit(chunks=60)
    refuse(world, Code.NOT_FOUND, *world.group.queues)
    for _ in range(2):
        run_afresh(world, 6)
        job = world.ledger.jobs.get("job-1")
        assert job.state is JobState.PAUSED
        assert " of 5 queues take nothing: " in job.reason
        assert world.totals.created == 0
        world.ledger.jobs.set_state("job-1", JobState.RUNNING, "", now=world.now)
    world.fault()
    world.finish()
    assert settled_once(world)
