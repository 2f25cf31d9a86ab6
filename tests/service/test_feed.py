"""What a feed puts into the injector queues, and when it is due."""

from collections import Counter
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.control.feed import Horizon, take
from injector.control.slots import Mark, Pace, due_times
from injector.delivery.memory import MemoryQueues
from injector.injector_task import parse_injector_task
from injector.ledger.ports import Chunks, JobState
from injector.pacing.ramp import Ramp
from tests.service.fed import FLAT, GROUP, NOW, gaps


def test_a_feed_fills_the_horizon_evenly(ground):
    fed = ground.feed()
    assert fed.fed == len(ground.tasks) == pytest.approx(180 * 5, abs=1)
    assert ground.dues[0] == NOW
    assert gaps(ground.dues) == pytest.approx([0.2] * (len(ground.dues) - 1))


def test_chunks_are_fed_in_order_under_generation_0(ground):
    ground.feed()
    tasks = sorted(ground.queues.created.values(), key=lambda create: create.schedule_time)
    fed = [parse_injector_task(create.body) for create in tasks]
    assert [task.chunk for task in fed] == list(range(len(fed)))
    assert {task.generation for task in fed} == {0}


def test_a_doubled_feed_changes_nothing(ground):
    ground.feed()
    assert ground.feed().fed == 0


def test_feeds_join_without_a_seam(ground):
    for minute in range(4):
        ground.settle(task.chunk for task in ground.tasks)
        ground.feed(now=NOW + 60 * minute)
    assert gaps(ground.dues) == pytest.approx([0.2] * (len(ground.dues) - 1))
    assert len(ground.dues) == pytest.approx((180 + 3 * 60) * 5, abs=1)


def test_tasks_are_scheduled_on_the_ramps_curve(field_of):
    ground = field_of(ramp=Ramp(), horizon=Horizon(ahead_s=400))
    ground.add()
    ground.feed()
    assert sum(due < NOW + 300 for due in ground.dues) == pytest.approx(1500, abs=1)
    assert sum(due >= NOW + 300 for due in ground.dues) == pytest.approx(750, abs=1)


def test_fractions_of_a_task_are_not_lost(field_of):
    ground = field_of(horizon=Horizon(ahead_s=60))
    ground.add()
    for minute in range(30):
        ground.settle(task.chunk for task in ground.tasks)
        ground.feed(now=NOW + 60 * minute, rate=0.11)
    assert len(ground.tasks) == pytest.approx(30 * 60 * 0.11, abs=1.5)


def test_missed_feeds_are_not_caught_up(ground):
    ground.feed()
    ground.settle(task.chunk for task in ground.tasks)
    later = NOW + 3600
    assert ground.feed(now=later).fed == pytest.approx(180 * 5, abs=1)
    assert next(due for due in ground.dues if due > NOW + 181) == pytest.approx(later)


def test_a_clock_set_back_does_not_stop_the_feed(ground):
    ground.feed(now=NOW + 3600)
    ground.settle(task.chunk for task in ground.tasks)
    assert ground.feed(now=NOW).fed == pytest.approx(180 * 5, abs=1)


def test_queues_that_stand_still_do_not_fill_up(ground):
    for minute in range(60):
        ground.feed(now=NOW + 60 * minute)
    assert len({task.chunk for task in ground.tasks}) <= 180 * 5 * 1.2 + 10


def test_what_a_job_lacks_ends_its_feed(field_of):
    ground = field_of()
    ground.add(chunks=7)
    assert ground.feed().fed == 7
    assert ground.feed(now=NOW + 60).fed == 0


def test_jobs_share_by_weight(field_of):
    ground = field_of()
    ground.add("three", weight=3.0)
    ground.add("one", weight=1.0)
    for minute in range(3):
        for job in ("three", "one"):
            ground.settle((task.chunk for task in ground.tasks if task.job == job), job=job)
        ground.feed(now=NOW + 60 * minute)
    assert ground.fed_of("three") / len(ground.tasks) == pytest.approx(0.75, abs=0.01)


def test_a_higher_priority_is_fed_first(field_of):
    ground = field_of()
    ground.add("late")
    ground.add("urgent", chunks=500, priority=1)
    ground.feed()
    assert ground.fed_of("urgent") == 500
    assert ground.fed_of("late") == pytest.approx(400, abs=1)


def test_a_jobs_own_limit_holds(field_of):
    ground = field_of()
    ground.add(max_rate=1.0)
    ground.feed()
    assert len(ground.tasks) == pytest.approx(180, abs=4)


def test_a_jobs_own_limit_holds_beyond_the_groups_next_step(field_of):
    ground = field_of(ramp=Ramp())
    ground.add(max_rate=1.0)
    ground.feed(now=NOW + 200)
    assert len(ground.tasks) == pytest.approx(180, abs=4)


@pytest.mark.parametrize("state", [JobState.PAUSED, JobState.CANCELLED])
def test_a_job_that_does_not_run_is_not_fed(ground, state):
    ground.ledger.jobs.set_state("job", state, "", now=NOW)
    assert ground.feed().fed == 0


def test_tasks_spread_over_the_injector_queues(ground):
    ground.feed()
    counts = Counter(create.queue for create in ground.queues.created.values())
    assert set(counts) == set(GROUP.injector_queues)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_overdue_chunks_are_fed_again_under_the_next_generation(field_of):
    ground = field_of()
    ground.add(chunks=10)
    ground.feed()
    ground.settle(set(range(10)) - {3, 4})
    assert ground.feed(now=NOW + 899).refed == 0
    assert ground.feed(now=NOW + 905).refed == 2
    again = [task for task in ground.tasks if task.generation]
    assert sorted((task.chunk, task.generation) for task in again) == [(3, 1), (4, 1)]
    assert ground.feed(now=NOW + 906).refed == 0


def test_an_overdue_chunk_goes_to_another_queue(field_of):
    ground = field_of()
    ground.add(chunks=1)
    ground.feed()
    ground.feed(now=NOW + 1000)
    assert {create.queue for create in ground.queues.created.values()} == set(GROUP.injector_queues)


def test_what_was_due_while_a_job_was_paused_is_fed_again_when_it_resumes(ground):
    ground.feed()
    ground.settle(range(100))
    ground.ledger.jobs.set_state("job", JobState.PAUSED, "", now=NOW + 20)
    ground.ledger.jobs.set_state("job", JobState.RUNNING, "", now=NOW + 60)
    ground.feed(now=NOW + 61)
    again = {task.chunk for task in ground.tasks if task.generation}
    assert set(range(100, 300)) <= again <= set(range(100, 400))


def test_a_missing_queue_stops_the_feed_and_is_named(ground):
    gone = GROUP.injector_queues[1]
    del ground.queues.queues[gone]
    fed = ground.feed()
    assert gone in fed.fault
    assert fed.fed == 1
    assert ground.ledger.jobs.get("job").cursor == 1


def test_chunks_not_taken_are_fed_by_the_next_feed(field_of):
    ground = field_of(batch=10)
    ground.add(chunks=50)
    ground.queues = MemoryQueues(ground.queues.queues.values(), faults=["UNAVAILABLE"])
    assert ground.feed().fed == 0
    assert ground.feed(now=NOW + 1).fed == 50
    assert sorted(task.chunk for task in ground.tasks) == list(range(50))


def test_a_feed_that_runs_out_of_time_keeps_what_it_fed(field_of):
    ground = field_of(batch=10)
    ground.add(chunks=50)
    left = iter([1.0, 1.0, 0.0])
    first = ground.feed(time_left=lambda: next(left))
    assert first.fed == 20
    second = ground.feed(now=NOW + 1)
    assert second.fed == 30
    assert gaps(ground.dues) == pytest.approx([0.2] * 49)


def test_a_feed_costs_the_same_whatever_the_jobs_size(field_of):
    calls = {}
    for chunks in (2_000, 10_000_000):
        ground = field_of()
        ground.add(chunks=chunks)
        asked = Asked(ground.ledger.jobs)
        ground.feed(jobs=asked)
        calls[chunks] = asked.names
    assert calls[2_000] == calls[10_000_000]
    assert Counter(calls[2_000])["overdue"] == 1


@dataclass
class Asked:
    """Counts the questions to the jobs."""

    jobs: object
    names: list[str] = field(default_factory=list)

    def __getattr__(self, name) -> object:
        self.names.append(name)
        return getattr(self.jobs, name)


def test_due_times_are_none_where_the_horizon_is_full():
    assert due_times(Pace(FLAT, NOW, 5.0), Mark(NOW + 180), now=NOW, ahead_s=180) == []


ranges = st.lists(
    st.builds(
        lambda first, size, feed: Chunks(first, first + size, 0, feed),
        st.integers(0, 50),
        st.integers(1, 20),
        st.integers(0, 3),
    ),
    max_size=5,
)


@given(ranges, st.integers(0, 120))
def test_taking_splits_ranges_without_loss(ranges, count):
    taken, rest = take(ranges, count)

    def spelled(some):
        return [(n, each.feed) for each in some for n in range(each.first, each.past)]

    assert spelled(taken) + spelled(rest) == spelled(ranges)
    assert len(spelled(taken)) == min(count, len(spelled(ranges)))
