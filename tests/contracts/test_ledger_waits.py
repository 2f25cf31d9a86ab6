"""Chunks that wait for a sick queue, over every ledger."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from injector.delivery.ports import Outcome
from injector.ledger import Ledger
from injector.ledger.lookup import find
from injector.ledger.ports import Chunks, JobState, NewJob, Receipt, Wait
from injector.ledger.tables import waits

FULL = (1 << 100) - 1
SICK, OTHER = "projects/p/locations/l/queues/a", "projects/p/locations/l/queues/b"
names = count()


def fed(ledger: Ledger, *, chunks: int = 10) -> str:
    job = f"waiting-{next(names)}"
    new = NewJob(job, "mail", "{}", "file:///c", 100 * chunks, chunks, "sha256:1")
    ledger.jobs.register(new, now=1.0)
    assert ledger.jobs.advance(job, Chunks(0, chunks, 0), scheduled_until=100.0, now=50.0)
    return job


def wait(ledger: Ledger, job: str, *chunks: int, queue: str = SICK, generation: int = 0) -> None:
    for chunk in chunks:
        ledger.receipts.merge(
            Receipt(job, chunk, 100, created_mask=FULL >> 10),
            now=90.0,
            counts={"accepted": 90},
            wait=Wait(queue, generation),
        )


def settle(ledger: Ledger, job: str, *chunks: int) -> None:
    for chunk in chunks:
        ledger.receipts.merge(Receipt(job, chunk, 100, created_mask=FULL), now=95.0)


def lost(ledger: Ledger, job: str, *, before: float = 101.0) -> list[tuple[int, int, int]]:
    found = ledger.jobs.overdue(job, before=before, limit=1000)
    return [(each.first, each.past, each.generation) for each in found]


def test_what_waits_is_counted_and_its_records_are_open(ledger: Ledger) -> None:
    job = fed(ledger)
    wait(ledger, job, 2, 5)
    wait(ledger, job, 5)
    totals = ledger.jobs.totals(job)
    assert (totals.waiting, totals.created, totals.chunks_settled) == (2, 180, 0)
    assert ledger.jobs.waits_for(job) == [SICK]
    missing = {each.chunk: each.mask for each in ledger.receipts.select(job, Outcome.NOT_TAKEN)}
    assert missing[2] == FULL & ~(FULL >> 10)
    assert len(missing) == 10


def test_what_waits_is_not_lost_however_late(ledger: Ledger) -> None:
    job = fed(ledger)
    wait(ledger, job, 2, 5)
    settle(ledger, job, 0, 1, 9)
    assert lost(ledger, job) == [(3, 5, 1), (6, 9, 1)]
    assert not ledger.jobs.finish(job, now=200.0)


def test_what_is_released_is_overdue_at_once_under_its_next_generation(ledger: Ledger) -> None:
    job = fed(ledger)
    settle(ledger, job, *range(1, 10))
    wait(ledger, job, 0, generation=3)
    assert ledger.jobs.release(job, OTHER, limit=10, now=99.0) == 0
    assert lost(ledger, job) == []
    assert ledger.jobs.release(job, SICK, limit=10, now=99.0) == 1
    assert lost(ledger, job, before=1.0) == [(0, 1, 4)]
    assert ledger.jobs.totals(job).waiting == 0
    assert ledger.jobs.waits_for(job) == []


def test_those_fed_least_often_are_released_first(ledger: Ledger) -> None:
    job = fed(ledger)
    settle(ledger, job, 0, 4, 5, 6, 7, 8, 9)
    wait(ledger, job, 1, generation=2)
    wait(ledger, job, 2, 3, generation=1)
    assert lost(ledger, job) == []
    assert ledger.jobs.release(job, SICK, limit=2, now=99.0) == 2
    assert lost(ledger, job) == [(2, 4, 2)]


def test_chunk_that_a_second_delivery_settles_waits_no_more(ledger: Ledger) -> None:
    job = fed(ledger)
    wait(ledger, job, 2)
    settle(ledger, job, 2)
    wait(ledger, job, 2)
    assert ledger.jobs.totals(job).waiting == 0
    assert ledger.jobs.release(job, SICK, limit=10, now=99.0) == 0


def test_chunk_of_which_nothing_is_settled_waits_too(ledger: Ledger) -> None:
    job = fed(ledger)
    ledger.receipts.merge(Receipt(job, 4, 100), now=90.0, wait=Wait(SICK, 0))
    assert ledger.jobs.totals(job).waiting == 1
    assert ledger.receipts.load(job, 4) is None
    assert list(ledger.receipts.stream(job)) == []
    ledger.receipts.merge(Receipt(job, 4, 100, created_mask=FULL), now=91.0)
    assert ledger.jobs.totals(job).waiting == 0
    assert ledger.receipts.load(job, 4).settled


def test_second_delivery_that_ends_open_leaves_the_chunk_waiting(ledger: Ledger) -> None:
    job = fed(ledger)
    wait(ledger, job, 2)
    ledger.receipts.merge(Receipt(job, 2, 100, created_mask=FULL >> 5), now=91.0)
    assert ledger.jobs.totals(job).waiting == 1


def test_chunk_may_wait_for_another_queue_next(ledger: Ledger) -> None:
    job = fed(ledger)
    wait(ledger, job, 2, 3)
    wait(ledger, job, 3, queue=OTHER, generation=1)
    assert ledger.jobs.waits_for(job) == [SICK, OTHER]
    assert ledger.jobs.totals(job).waiting == 2
    assert ledger.jobs.release(job, OTHER, limit=9, now=99.0) == 1


def test_hastened_job_waits_for_nothing(ledger: Ledger) -> None:
    job = fed(ledger)
    wait(ledger, job, 2, 3)
    wait(ledger, job, 7, queue=OTHER)
    ledger.jobs.hasten(job, now=99.0)
    assert ledger.jobs.totals(job).waiting == 0
    found = {at for first, past, _ in lost(ledger, job) for at in range(first, past)}
    assert found == set(range(10))


def test_removed_job_leaves_no_wait_behind(ledger: Ledger) -> None:
    job = fed(ledger)
    wait(ledger, job, 2, 3)
    key = ledger.database.read(lambda connection: find(connection, job).key)
    ledger.jobs.set_state(job, JobState.CANCELLED, "", now=99.0)
    ledger.jobs.delete(job, now=100.0)
    count_left = select(func.count()).select_from(waits).where(waits.c.job == key)
    assert ledger.database.read(lambda connection: connection.scalar(count_left)) == 0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.integers(0, 7), st.sampled_from([SICK, OTHER])),
        st.tuples(st.just("settle"), st.integers(0, 7), st.just("")),
        st.tuples(st.just("release"), st.integers(1, 4), st.sampled_from([SICK, OTHER])),
    ),
    max_size=25,
)


@pytest.mark.parametrize("looked_over", [False, True])
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=STEPS)
def test_every_chunk_is_settled_waiting_or_overdue_and_never_two_of_them(
    ledger: Ledger, steps: list[tuple[str, int, str]], *, looked_over: bool
) -> None:
    """The law: nobody forgets a chunk, whatever comes in which order, twice or not at all."""
    job = fed(ledger, chunks=8)
    waiting, settled = {}, set()
    for what, number, queue in steps:
        if what == "wait":
            wait(ledger, job, number, queue=queue)
            waiting |= {} if number in settled else {number: queue}
        elif what == "settle":
            settle(ledger, job, number)
            settled.add(number)
            waiting.pop(number, None)
        else:
            due = sorted(chunk for chunk, of in waiting.items() if of == queue)[:number]
            assert ledger.jobs.release(job, queue, limit=number, now=99.0) == len(due)
            for chunk in due:
                del waiting[chunk]
        if looked_over:
            lost(ledger, job)
    totals = ledger.jobs.totals(job)
    assert (totals.waiting, totals.chunks_settled) == (len(waiting), len(settled))
    assert ledger.jobs.waits_for(job) == sorted(set(waiting.values()))
    overdue = {at for first, past, _ in lost(ledger, job) for at in range(first, past)}
    assert overdue == set(range(8)) - settled - set(waiting)
