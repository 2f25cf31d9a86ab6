from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from injector.errors import NotFound
from injector.ledger import Ledger, feeds
from injector.ledger.ports import Chunks, JobState, NewJob, Receipt, Tuning

FULL = (1 << 100) - 1
names = count()


def register(ledger: Ledger, *, chunks: int = 10) -> str:
    job = f"job-{next(names)}"
    ledger.jobs.register(
        NewJob(job, "mail", "{}", "file:///c", 100 * chunks, chunks, "sha256:1"), now=1.0
    )
    return job


def fed(ledger: Ledger, *, chunks: int = 10) -> str:
    job = register(ledger, chunks=chunks)
    assert ledger.jobs.advance(job, Chunks(0, chunks, 0), scheduled_until=100.0, now=50.0)
    return job


def settle(ledger: Ledger, job: str, *chunks: int) -> None:
    for chunk in chunks:
        ledger.receipts.merge(Receipt(job, chunk, 100, created_mask=FULL), now=90.0)


def overdue(ledger: Ledger, job: str, *, before: float = 101.0, limit: int = 1000) -> list[Chunks]:
    return list(ledger.jobs.overdue(job, before=before, limit=limit))


def ranges(chunks: list[Chunks]) -> list[tuple[int, int, int]]:
    return [(each.first, each.past, each.generation) for each in chunks]


def test_cursor_moves_over_what_was_fed(ledger: Ledger):
    job = register(ledger)

    assert ledger.jobs.advance(job, Chunks(0, 4, 0), scheduled_until=60.0, now=50.0)
    assert ledger.jobs.advance(job, Chunks(4, 10, 0), scheduled_until=90.0, now=60.0)

    kept = ledger.jobs.get(job)
    assert (kept.cursor, kept.started_at) == (10, 50.0)
    assert ledger.jobs.totals(job).fed == 10


@pytest.mark.parametrize("chunks", [Chunks(0, 4, 0), Chunks(3, 5, 0), Chunks(5, 6, 0)])
def test_cursor_that_someone_else_moved_is_left_alone(ledger: Ledger, chunks: Chunks):
    job = register(ledger)
    ledger.jobs.advance(job, Chunks(0, 4, 0), scheduled_until=60.0, now=50.0)

    assert not ledger.jobs.advance(job, chunks, scheduled_until=70.0, now=60.0)

    assert ledger.jobs.get(job).cursor == 4
    assert ranges(overdue(ledger, job)) == [(0, 4, 1)]


def test_cursor_never_passes_the_last_chunk(ledger: Ledger):
    job = register(ledger, chunks=10)

    assert not ledger.jobs.advance(job, Chunks(0, 11, 0), scheduled_until=60.0, now=50.0)


def test_cursor_of_a_paused_job_still_follows_its_creates(ledger: Ledger):
    job = register(ledger)
    ledger.jobs.set_state(job, JobState.PAUSED, "", now=2.0)

    assert ledger.jobs.advance(job, Chunks(0, 4, 0), scheduled_until=60.0, now=50.0)


def test_chunks_are_overdue_once_their_time_has_passed_without_a_receipt(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, 0, 3, 4, 9)

    assert overdue(ledger, job, before=100.0) == []
    assert ranges(overdue(ledger, job, before=100.1)) == [(1, 3, 1), (5, 9, 1)]


def test_partly_settled_chunk_is_overdue(ledger: Ledger):
    job = fed(ledger, chunks=3)
    settle(ledger, job, 0, 2)
    ledger.receipts.merge(Receipt(job, 1, 100, created_mask=FULL & ~1), now=90.0)

    assert ranges(overdue(ledger, job)) == [(1, 2, 1)]


def test_overdue_chunks_come_again_until_they_are_fed_again(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, 0, 1, 5)

    assert overdue(ledger, job) == overdue(ledger, job)


def test_overdue_chunks_are_at_most_as_many_as_asked_for(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, 2)

    assert ranges(overdue(ledger, job, limit=1)) == [(0, 1, 1)]
    assert ranges(overdue(ledger, job, limit=4)) == [(0, 2, 1), (3, 5, 1)]


def test_refed_chunks_wait_for_their_new_time_under_their_next_generation(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, 0, 3)
    lost = overdue(ledger, job)

    assert ledger.jobs.refeed(job, lost, scheduled_until=200.0, now=150.0) == 8

    assert overdue(ledger, job, before=200.0) == []
    settle(ledger, job, 1, 4)
    assert ranges(overdue(ledger, job, before=201.0)) == [(2, 3, 2), (5, 10, 2)]


def test_refeeding_what_was_refed_changes_nothing(ledger: Ledger):
    job = fed(ledger)
    lost = overdue(ledger, job)
    ledger.jobs.refeed(job, lost, scheduled_until=200.0, now=150.0)

    assert ledger.jobs.refeed(job, lost, scheduled_until=300.0, now=151.0) == 0

    assert ranges(overdue(ledger, job, before=201.0)) == [(0, 10, 2)]


def test_what_the_limit_left_out_is_overdue_next_time(ledger: Ledger):
    job = fed(ledger)
    ledger.jobs.refeed(job, overdue(ledger, job, limit=4), scheduled_until=200.0, now=150.0)

    assert ranges(overdue(ledger, job)) == [(4, 10, 1)]


def test_chunk_that_the_feed_passed_over_is_not_forgotten(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, 3)
    _passed_over, second = overdue(ledger, job)

    ledger.jobs.refeed(job, [second], scheduled_until=200.0, now=150.0)

    assert ranges(overdue(ledger, job, before=201.0)) == [(0, 3, 2), (4, 10, 2)]


def test_ranges_of_another_job_are_not_refed(ledger: Ledger):
    job, other = fed(ledger), fed(ledger)
    lost = overdue(ledger, job)

    assert ledger.jobs.refeed(other, lost, scheduled_until=200.0, now=150.0) == 0
    assert overdue(ledger, job) == lost


def test_several_feedings_are_overdue_each_in_its_time(ledger: Ledger):
    job = register(ledger)
    for first, until in ((0, 60.0), (4, 70.0), (8, 80.0)):
        chunks = Chunks(first, min(first + 4, 10), 0)
        ledger.jobs.advance(job, chunks, scheduled_until=until, now=50.0)
    settle(ledger, job, 4, 5)

    assert ranges(overdue(ledger, job, before=75.0)) == [(0, 4, 1), (6, 8, 1)]


def rows_of(ledger: Ledger, job: str) -> list[tuple[int, int]]:
    query = "SELECT first, past FROM feeds WHERE job = (SELECT key FROM jobs WHERE id = '{}')"
    found = ledger.database.read(lambda c: c.exec_driver_sql(query.format(job)).all())
    return [(row.first, row.past) for row in found]


def test_settled_feedings_are_forgotten(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, *range(10))

    assert overdue(ledger, job) == []

    assert rows_of(ledger, job) == []


def test_feeding_shrinks_to_what_is_not_settled(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, 0, 1, 2, 3, 6)

    overdue(ledger, job)

    assert rows_of(ledger, job) == [(4, 10)]


def test_long_feeding_is_looked_over_a_part_at_a_time(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(feeds, "SCAN", 4)
    job = fed(ledger)
    settle(ledger, job, *range(9))

    looks = [ranges(overdue(ledger, job)) for _ in range(3)]

    assert looks == [[], [], [(9, 10, 1)]]


def test_many_feedings_are_looked_over_a_part_at_a_time(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(feeds, "SCAN", 4)
    job = register(ledger)
    for first in range(0, 10, 2):
        chunks = Chunks(first, first + 2, 0)
        ledger.jobs.advance(job, chunks, scheduled_until=60.0 + first, now=50.0)
    settle(ledger, job, *range(9))

    looks = [ranges(overdue(ledger, job)) for _ in range(3)]

    assert looks == [[], [], [(9, 10, 1)]]


def test_what_was_fed_and_not_settled_is_overdue_once_it_is_recalled(ledger: Ledger):
    job = fed(ledger)
    settle(ledger, job, 0, 3)

    ledger.jobs.recall(job, 0)

    least = ledger.jobs.get(job).generation
    assert ranges(overdue(ledger, job, before=0.0)) == [(1, 3, least), (4, 10, least)]


def test_recall_asked_again_of_one_generation_changes_nothing(ledger: Ledger):
    job = fed(ledger)
    ledger.jobs.recall(job, 0)
    once = ledger.jobs.get(job)
    ledger.jobs.recall(job, 0)

    assert ledger.jobs.get(job) == once
    ledger.jobs.recall(job, once.generation)
    assert ledger.jobs.get(job).generation > once.generation


def test_recalled_chunks_that_were_fed_again_are_as_any_others(ledger: Ledger):
    job = fed(ledger)
    ledger.jobs.recall(job, 0)
    lost = overdue(ledger, job, before=0.0)

    assert ledger.jobs.refeed(job, lost, scheduled_until=500.0, now=60.0) == 10

    assert overdue(ledger, job, before=499.0) == []
    (again,) = overdue(ledger, job, before=501.0)
    assert again.generation == lost[0].generation + 1


def test_feed_under_way_at_a_recall_is_recalled_with_the_rest(ledger: Ledger):
    job = fed(ledger)
    lost = overdue(ledger, job)
    ledger.jobs.recall(job, 0)
    ledger.jobs.refeed(job, lost, scheduled_until=500.0, now=60.0)

    (again,) = overdue(ledger, job, before=0.0)

    assert again.generation == ledger.jobs.get(job).generation > lost[0].generation


def test_tuning_recalls_the_jobs_that_it_names_and_no_others(ledger: Ledger):
    job, slower, other = (fed(ledger) for _ in range(3))

    ledger.jobs.tune(job, Tuning(weight=3.0), now=60.0, recall=[slower])

    found = {each: ledger.jobs.get(each).generation for each in (job, slower, other)}
    assert found[slower] > found[job] == found[other] == 0


def test_tuning_passes_over_a_job_to_recall_that_is_deleted_by_now(ledger: Ledger):
    job = fed(ledger)
    ledger.jobs.tune(job, Tuning(weight=3.0), now=60.0, recall=["gone", job])
    assert ledger.jobs.get(job).generation > 0
    with pytest.raises(NotFound):
        ledger.jobs.tune("gone", Tuning(weight=3.0), now=60.0, recall=[job])


on_one_ledger = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SIZE = 12
sets_of_chunks = st.sets(st.integers(0, SIZE - 1))


@on_one_ledger
@given(st.lists(st.tuples(sets_of_chunks, st.integers(1, SIZE), st.booleans()), max_size=5))
def test_no_fed_chunk_is_out_of_sight_before_it_is_settled(ledger: Ledger, rounds):
    job = fed(ledger, chunks=SIZE)
    settled: set[int] = set()
    for turn, (arrived, limit, crashed) in enumerate(rounds):
        settle(ledger, job, *arrived)
        settled |= arrived
        lost = overdue(ledger, job, before=1000.0 * turn + 999, limit=limit)
        if not crashed:
            until = 1000.0 * (turn + 1)
            ledger.jobs.refeed(job, lost, scheduled_until=until, now=until - 1)

    left = overdue(ledger, job, before=1e9)

    missing = [chunk for each in left for chunk in range(each.first, each.past)]
    assert sorted(missing) == sorted(set(range(SIZE)) - settled)


@on_one_ledger
@given(st.lists(st.tuples(st.integers(1, SIZE), st.sets(st.integers(0, 20))), max_size=6))
def test_no_chunk_is_fed_twice_under_one_generation(ledger: Ledger, rounds):
    job = fed(ledger, chunks=SIZE)
    feedings = [(chunk, 0) for chunk in range(SIZE)]
    for turn, (limit, skipped) in enumerate(rounds):
        lost = overdue(ledger, job, before=1e9, limit=limit)
        kept = [each for number, each in enumerate(lost) if number not in skipped]
        feedings += [(chunk, e.generation) for e in kept for chunk in range(e.first, e.past)]
        ledger.jobs.refeed(job, kept, scheduled_until=1e3 * (turn + 1), now=1.0)

    assert len(feedings) == len(set(feedings))
