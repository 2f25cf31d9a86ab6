"""A job that is to go slower, over the emulator, and what its queues dispatched by the minute."""

from dataclasses import replace
from itertools import pairwise

import pytest

from injector.control.recall import slower
from injector.pacing.ramp import Ramp
from tests.pace.test_pace_end_to_end import settled_once
from tests.pace.virtual_world import virtual_world

RATE, LIMIT = 1.0, 0.2


@pytest.fixture
def world():
    with virtual_world(ramp=Ramp(initial_rate=RATE, growth=1.0), per_chunk=2) as made:
        yield made


def tune(world, job, **change: object):
    """Change a job as the service does."""
    jobs = world.ledger.jobs
    tuning = replace(jobs.get(job).tuning, **change)
    recall = slower(jobs.get(job), tuning, jobs.active(world.group.name))
    jobs.tune(job, tuning, now=world.now, recall=recall)


def settled(world, minutes, job="job-1"):
    """Tick each minute, and return how many of the job's chunks were settled in each."""
    counts = [world.ledger.jobs.totals(job).chunks_settled]
    for _ in range(minutes):
        world.run(1)
        counts.append(world.ledger.jobs.totals(job).chunks_settled)
    return [later - earlier for earlier, later in pairwise(counts)]


def test_a_lower_limit_holds_at_once_and_each_record_is_created_once(world):
    world.submit(chunks=400)
    assert settled(world, 4)[-1] == pytest.approx(60, abs=2)
    world.run_until(world.now + 10)
    before = world.totals.chunks_settled
    tune(world, "job-1", max_rate=LIMIT)
    world.run_until(world.now + 50)
    assert world.totals.chunks_settled == before
    slow = settled(world, 8)
    assert max(slow) <= 60 * LIMIT + 3
    assert sum(slow[-4:]) == pytest.approx(4 * 60 * LIMIT, abs=4)
    tune(world, "job-1", max_rate=None)
    world.finish()
    assert settled_once(world)


def test_a_job_with_a_limit_keeps_it_after_its_queue_stood_still(world):
    (injector_queue,) = world.group.injector_queues
    world.submit(chunks=300)
    tune(world, "job-1", max_rate=LIMIT)
    world.run(5)
    world.admin.pause_queue(injector_queue)
    world.run_until(world.now + 600)
    world.admin.resume_queue(injector_queue)
    assert max(settled(world, 6)) <= 60 * LIMIT + 3
    world.finish()
    assert settled_once(world)


def test_a_job_that_is_given_precedence_goes_from_the_next_tick_on(world):
    world.submit(chunks=400, job="job-2")
    world.run(3)
    world.submit(chunks=100)
    world.run(1)
    tune(world, "job-1", priority=1)
    held = world.ledger.jobs.totals("job-2").chunks_settled
    assert settled(world, 1)[0] > 15
    assert world.ledger.jobs.totals("job-2").chunks_settled == held
    world.finish()
    assert settled_once_of(world, 2 * 500)


def settled_once_of(world, records):
    """Tell whether so many records came, of all jobs, each as one task."""
    world.run(20)
    return world.tasks_made() == records
