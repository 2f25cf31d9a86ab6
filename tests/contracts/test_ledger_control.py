"""Redrives, take-backs, notices and given answers, over every kind of ledger."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Conflict, NotFound, Outdated
from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import Chunks, Given, JobState, NewJob, Notice, Receipt, Reject, Tuning

JOB = NewJob("welcome", "mail", "{}", "file:///chunks", 1250, 13, "sha256:1")


def whole(chunk: int, records: int = 100, *, rejected: int = 0) -> Receipt:
    """Settle a chunk, its first records as rejects."""
    mask = (1 << rejected) - 1
    rejects = tuple(Reject(n, chunk * 100 + n, n + 1, "no") for n in range(rejected))
    everything = (1 << records) - 1
    return Receipt("welcome", chunk, records, everything & ~mask, 0, mask, rejects)


def finish(ledger: Ledger, rejected: dict[int, int]) -> None:
    """Feed and settle all of the job, with so many rejects in each chunk."""
    ledger.jobs.register(JOB, now=1.0)
    ledger.jobs.advance("welcome", Chunks(0, 13, 0), scheduled_until=5.0, now=2.0)
    for chunk in range(13):
        records = 50 if chunk == 12 else 100
        ledger.receipts.merge(whole(chunk, records, rejected=rejected.get(chunk, 0)), now=6.0)
    ledger.jobs.overdue("welcome", before=100.0, limit=100)
    assert ledger.jobs.finish("welcome", now=7.0)


def test_redrive_opens_the_rejects_of_a_finished_job_and_nothing_else(ledger: Ledger):
    finish(ledger, {3: 2, 4: 100, 9: 1})

    assert ledger.jobs.redrive("welcome", now=10.0, who="ann") == 103

    job, totals = ledger.jobs.get("welcome"), ledger.jobs.totals("welcome")
    assert (job.state, job.finished_at, job.redrives) == (JobState.RUNNING, None, 1)
    assert (totals.created, totals.rejected, totals.chunks_settled) == (1147, 0, 10)
    assert ledger.jobs.rejects("welcome") == []
    kept = ledger.receipts.load("welcome", 3)
    assert kept is not None
    assert kept.open_mask == 0b11
    assert not ledger.jobs.finish("welcome", now=11.0)


def test_redriven_chunks_are_overdue_at_once_under_a_generation_of_their_own(ledger: Ledger):
    finish(ledger, {3: 2, 4: 100, 9: 1})
    ledger.jobs.redrive("welcome", now=10.0)

    lost = ledger.jobs.overdue("welcome", before=10.0, limit=100)

    assert [(each.first, each.past, each.generation) for each in lost] == [
        (3, 5, 1001),
        (9, 10, 1001),
    ]
    ledger.jobs.refeed("welcome", lost, scheduled_until=20.0, now=11.0)
    for chunk in (3, 4, 9):
        ledger.receipts.merge(whole(chunk, rejected=1), now=21.0)
    ledger.jobs.overdue("welcome", before=30.0, limit=100)
    ledger.jobs.finish("welcome", now=30.0)
    assert ledger.jobs.redrive("welcome", now=40.0) == 3
    again = ledger.jobs.overdue("welcome", before=40.0, limit=100)
    assert {each.generation for each in again} == {2001}


def test_an_audit_is_read_in_pages(ledger: Ledger):
    finish(ledger, {3: 2})
    ledger.jobs.redrive("welcome", now=10.0, who="ann")
    lines = ledger.jobs.audit("welcome")
    second = ledger.jobs.audit("welcome", limit=2, before=lines[1].id)
    assert len(lines) > 3
    assert [line.id for line in second] == [line.id for line in lines[2:4]]


def test_redrive_is_noted_with_who_and_what(ledger: Ledger):
    finish(ledger, {3: 2})
    ledger.jobs.redrive("welcome", now=10.0, who="ann")
    lines = ledger.jobs.audit("welcome", limit=2)
    assert [(line.who, line.what, line.old, line.new) for line in lines] == [
        ("ann", "redrive", "rejected", "redrive 1"),
        ("ann", "state", "finished", "running"),
    ]


def test_redrive_of_a_cancelled_or_changed_job_is_refused(ledger: Ledger):
    ledger.jobs.register(JOB, now=1.0)
    with pytest.raises(Outdated, match="at version 1, not 7"):
        ledger.jobs.redrive("welcome", now=2.0, expected_version=7)
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=2.0)
    with pytest.raises(Conflict, match="which is for good"):
        ledger.jobs.redrive("welcome", now=3.0)
    with pytest.raises(NotFound):
        ledger.jobs.redrive("nothing", now=3.0)


def test_redrive_goes_page_by_page_over_a_large_job(ledger: Ledger):
    many = replace(JOB, records=120_000, chunks=1200)
    ledger.jobs.register(many, now=1.0)
    for chunk in range(1200):
        ledger.receipts.merge(whole(chunk, rejected=1), now=2.0)
    assert ledger.jobs.redrive("welcome", now=3.0) == 1200
    assert ledger.jobs.totals("welcome").chunks_settled == 0
    (lost,) = ledger.jobs.overdue("welcome", before=3.0, limit=600)[:1]
    assert (lost.first, lost.past) == (0, 500)


@given(
    st.dictionaries(st.integers(0, 12), st.integers(0, 50)),
    st.lists(st.sampled_from(["redrive", "settle"]), max_size=6),
)
def test_totals_always_agree_with_the_receipts(rejected, acts):
    ledger = open_ledger("sqlite://")
    finish(ledger, rejected)
    for at, act in enumerate(acts):
        if act == "redrive":
            ledger.jobs.redrive("welcome", now=10.0 + at)
        else:
            for chunk, count in rejected.items():
                records = 50 if chunk == 12 else 100
                ledger.receipts.merge(whole(chunk, records, rejected=count // 2), now=10.0 + at)
    kept = list(ledger.receipts.stream("welcome"))
    totals, rejects = ledger.jobs.totals("welcome"), ledger.jobs.rejects("welcome", limit=2000)
    ledger.close()
    assert totals.created == sum(each.created_mask.bit_count() for each in kept)
    assert totals.rejected == sum(each.rejected_mask.bit_count() for each in kept) == len(rejects)
    assert totals.chunks_settled == sum(each.settled for each in kept)


def test_hastened_chunks_are_overdue_at_once(ledger: Ledger):
    ledger.jobs.register(JOB, now=1.0)
    ledger.jobs.advance("welcome", Chunks(0, 5, 0), scheduled_until=500.0, now=2.0)
    ledger.receipts.merge(whole(1), now=3.0)
    assert ledger.jobs.overdue("welcome", before=4.0, limit=100) == []
    ledger.jobs.hasten("welcome", now=3.0)
    lost = ledger.jobs.overdue("welcome", before=4.0, limit=100)
    assert [(each.first, each.past, each.generation) for each in lost] == [(0, 1, 1), (2, 5, 1)]


def cancelled(ledger: Ledger) -> None:
    ledger.jobs.register(JOB, now=1.0)
    ledger.jobs.advance("welcome", Chunks(0, 8, 0), scheduled_until=5.0, now=2.0)
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=3.0)


def test_a_take_back_begins_with_what_was_fed_and_waits_for_its_time(ledger: Ledger):
    cancelled(ledger)
    asked = ledger.takebacks.ask("welcome", not_before=60.0, now=4.0, who="ann")
    assert (asked.next, asked.past, asked.done) == (0, 8, False)
    assert ledger.takebacks.ask("welcome", not_before=99.0, now=5.0) == asked
    assert ledger.takebacks.open("mail", now=59.0) == []
    assert ledger.takebacks.open("mail", now=60.0) == [asked]
    assert ledger.takebacks.open("other", now=60.0) == []
    (line, *_) = ledger.jobs.audit("welcome")
    assert (line.who, line.what) == ("ann", "take back")


def test_a_take_back_moves_once_for_each_page(ledger: Ledger):
    cancelled(ledger)
    asked = ledger.takebacks.ask("welcome", not_before=0.0, now=4.0)
    assert ledger.takebacks.advance(asked, past=5, deleted=400, gone=100)
    assert not ledger.takebacks.advance(asked, past=5, deleted=400, gone=100)
    half = ledger.takebacks.of("welcome")
    assert half is not None
    assert (half.next, half.deleted, half.gone, half.done) == (5, 400, 100, False)
    assert ledger.takebacks.advance(half, past=8, deleted=1, gone=299)
    assert ledger.takebacks.open("mail", now=9.0) == []


def test_tasks_of_a_job_that_is_not_cancelled_are_not_taken_back(ledger: Ledger):
    ledger.jobs.register(JOB, now=1.0)
    with pytest.raises(Conflict, match="is running; its tasks can be taken back once cancelled"):
        ledger.takebacks.ask("welcome", not_before=0.0, now=2.0)
    assert ledger.takebacks.of("welcome") is None


@pytest.mark.parametrize("end", [JobState.CANCELLED, JobState.FAILED])
def test_a_notice_is_due_when_its_job_ends_and_not_before(ledger: Ledger, end: JobState):
    ledger.jobs.register(replace(JOB, notify="https://hooks.example/x"), now=1.0)
    assert ledger.notices.due("mail", now=99.0) == []
    ledger.jobs.set_state("welcome", end, "", now=5.0)
    assert ledger.notices.due("mail", now=4.0) == []
    assert ledger.notices.due("other", now=9.0) == []
    assert ledger.notices.due("mail", now=9.0) == [Notice("welcome", "https://hooks.example/x", 0)]


def test_a_notice_is_put_off_and_at_last_given(ledger: Ledger):
    ledger.jobs.register(replace(JOB, notify="https://hooks.example/x"), now=1.0)
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=5.0)
    (notice,) = ledger.notices.due("mail", now=9.0)
    ledger.notices.put_off(notice, until=70.0)
    ledger.notices.put_off(notice, until=None)
    assert ledger.notices.due("mail", now=69.0) == []
    (again,) = ledger.notices.due("mail", now=70.0)
    assert again.tries == 1
    ledger.notices.put_off(again, until=None)
    assert ledger.notices.due("mail", now=1e9) == []


def test_a_job_that_goes_on_after_all_has_no_notice_due(ledger: Ledger):
    ledger.jobs.register(replace(JOB, notify="https://hooks.example/x"), now=1.0)
    ledger.jobs.set_state("welcome", JobState.FAILED, "", now=5.0)
    ledger.jobs.set_state("welcome", JobState.RUNNING, "", now=6.0)
    assert ledger.notices.due("mail", now=9.0) == []


def test_a_question_is_answered_once_and_then_as_before(ledger: Ledger):
    assert ledger.answers.begin("k", "q", now=1.0, patience_s=60.0) is None
    assert ledger.answers.begin("k", "q", now=2.0, patience_s=60.0) == Given(None, "")
    ledger.answers.give("k", Given(200, "yes"))
    assert ledger.answers.begin("k", "q", now=3.0, patience_s=60.0) == Given(200, "yes")
    with pytest.raises(Conflict, match="another request"):
        ledger.answers.begin("k", "other", now=3.0, patience_s=60.0)


def test_a_question_whose_answer_was_lost_begins_anew(ledger: Ledger):
    ledger.answers.begin("k", "q", now=1.0, patience_s=60.0)
    assert ledger.answers.begin("k", "q", now=62.0, patience_s=60.0) is None
    assert ledger.answers.begin("k", "q", now=63.0, patience_s=60.0) == Given(None, "")


def test_a_dropped_key_is_free_and_a_given_answer_is_not_dropped(ledger: Ledger):
    ledger.answers.begin("k", "q", now=1.0, patience_s=60.0)
    ledger.answers.drop("k")
    assert ledger.answers.begin("k", "other", now=2.0, patience_s=60.0) is None
    ledger.answers.give("k", Given(204, ""))
    ledger.answers.drop("k")
    assert ledger.answers.begin("k", "other", now=3.0, patience_s=60.0) == Given(204, "")
    ledger.answers.forget(before=10.0)
    assert ledger.answers.begin("k", "q", now=11.0, patience_s=60.0) is None


def test_of_those_who_ask_at_once_one_begins(shared_url: str):
    ledger = open_ledger(shared_url)
    with ThreadPoolExecutor(8) as pool:
        began = pool.map(
            lambda _: ledger.answers.begin("k", "q", now=1.0, patience_s=60.0), range(8)
        )
        assert sorted(given is None for given in began) == [False] * 7 + [True]
    ledger.close()


def test_of_changes_meant_for_one_version_one_is_made(shared_url: str):
    ledger = open_ledger(shared_url)
    ledger.jobs.register(JOB, now=1.0)

    def change(weight: int) -> bool:
        try:
            ledger.jobs.tune("welcome", Tuning(weight=weight), now=2.0, expected_version=1)
        except Outdated:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(change, range(2, 10)))
    job, lines = ledger.jobs.get("welcome"), ledger.jobs.audit("welcome")
    ledger.close()
    assert sum(made) == 1
    assert (job.version, job.weight) == (2, made.index(True) + 2)
    assert [line.what for line in lines] == ["weight", "registered"]


def test_a_deleted_job_leaves_no_take_back_and_no_notice(ledger: Ledger):
    ledger.jobs.register(replace(JOB, notify="https://hooks.example/x"), now=1.0)
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=2.0)
    ledger.takebacks.ask("welcome", not_before=0.0, now=3.0)
    with pytest.raises(Outdated):
        ledger.jobs.delete("welcome", now=4.0, expected_version=1)
    ledger.jobs.delete("welcome", now=4.0)
    assert ledger.notices.due("mail", now=9.0) == []
    assert ledger.takebacks.open("mail", now=9.0) == []
    ledger.jobs.register(JOB, now=5.0)
    assert ledger.takebacks.of("welcome") is None
