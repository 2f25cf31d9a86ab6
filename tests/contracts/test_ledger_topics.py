"""What the ledger keeps of topics: their messages' ids, and what they were told."""

from dataclasses import replace
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.ledger import Ledger
from injector.ledger.event_marks import without_gaps
from injector.ledger.message_ids import pack_ids, unpack_ids
from injector.ledger.ports import Chunks, JobState, NewJob, RampDecision, Receipt, Reject

TOPIC = "projects/p/topics/jobs"
LONG_AGO = 0.0
names = count()


def register(ledger: Ledger, *, chunks: int = 3) -> str:
    job = f"job-{next(names)}"
    ledger.jobs.register(
        NewJob(job, "mail", "{}", "file:///c", 100 * chunks, chunks, "sha256:1"), now=1.0
    )
    return job


def receipt_of(job: str, chunk: int, **ids: str) -> Receipt:
    """Make a receipt of three records; those with an id were published."""
    found = tuple(ids.get(f"m{place}", "") for place in range(3))
    mask = sum(1 << place for place, each in enumerate(found) if each)
    return Receipt(job, chunk, 3, created_mask=mask, message_ids=found)


@given(st.lists(st.one_of(st.just(""), st.integers(0, 2**63).map(str), st.text(max_size=30))))
def test_ids_come_back_as_they_were(ids):
    assert unpack_ids(pack_ids(ids)) == ids


@given(st.integers(0, 2**61))
def test_ids_that_follow_each_other_take_two_bytes_each_at_most(first):
    assert len(pack_ids([str(first + place) for place in range(100)])) <= 1 + 10 + 2 * 99


def test_ids_are_kept_by_chunk(ledger: Ledger):
    job = register(ledger)
    for chunk in (0, 2):
        ledger.receipts.merge(receipt_of(job, chunk, m0="7", m1="8", m2="9"), now=2.0)
    assert ledger.receipts.message_ids(job, first=0, past=2) == {0: ["7", "8", "9"]}
    assert ledger.receipts.message_ids(job, first=1, past=3) == {2: ["7", "8", "9"]}


def test_tasks_have_none(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(Receipt(job, 0, 3, created_mask=0b111), now=2.0)
    assert ledger.receipts.message_ids(job, first=0, past=3) == {}


def test_ids_of_a_chunk_that_is_settled_bit_by_bit_are_put_together(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(receipt_of(job, 0, m1="a"), now=2.0)
    ledger.receipts.merge(receipt_of(job, 0, m0="x", m2="z"), now=3.0)
    assert ledger.receipts.message_ids(job, first=0, past=1) == {0: ["x", "a", "z"]}


def test_message_that_came_twice_keeps_the_id_that_was_settled_first(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(receipt_of(job, 0, m0="1", m1="2"), now=2.0)
    ledger.receipts.merge(receipt_of(job, 0, m0="5", m1="6", m2="7"), now=3.0)
    assert ledger.receipts.message_ids(job, first=0, past=1) == {0: ["1", "2", "7"]}


def test_rejects_beside_messages_are_kept_with_them(ledger: Ledger):
    job = register(ledger)
    rejects = (Reject(2, 2, 3, "too long"),)
    receipt = replace(receipt_of(job, 0, m0="1", m1="2"), rejected_mask=0b100, rejects=rejects)
    ledger.receipts.merge(receipt, now=2.0)
    assert ledger.receipts.message_ids(job, first=0, past=1) == {0: ["1", "2", ""]}
    assert ledger.jobs.totals(job).rejected == 1


def test_removed_job_takes_its_ids_along(ledger: Ledger):
    job = register(ledger)
    ledger.receipts.merge(receipt_of(job, 0, m0="1", m1="2", m2="3"), now=2.0)
    ledger.jobs.set_state(job, JobState.CANCELLED, "", now=3.0)
    ledger.jobs.delete(job, now=4.0)
    kept = ledger.database.read(
        lambda connection: connection.exec_driver_sql("SELECT count(*) FROM message_ids").scalar()
    )
    assert kept == 0


def told_of_jobs(ledger: Ledger, **limits: float) -> list[tuple[str, str, str]]:
    settled, limit = limits.get("settled", LONG_AGO), int(limits.get("limit", 100))
    found = ledger.event_marks.audit_after(TOPIC, settled=settled, limit=limit)
    return [(line.job, line.what, line.new) for _, line in found]


def test_topic_is_told_of_what_happens_after_it_was_first_asked_for(ledger: Ledger):
    before, after = register(ledger), ""
    assert told_of_jobs(ledger) == []
    after = register(ledger)
    ledger.jobs.set_state(before, JobState.PAUSED, "", now=2.0)
    assert told_of_jobs(ledger) == [
        (after, "registered", "running"),
        (before, "state", "paused"),
    ]


def test_topic_that_was_told_is_not_told_again_and_another_has_its_own_mark(ledger: Ledger):
    other = f"{TOPIC}-2"
    told_of_jobs(ledger)
    ledger.event_marks.audit_after(other, settled=LONG_AGO, limit=10)
    job = register(ledger)
    ((number, _),) = ledger.event_marks.audit_after(TOPIC, settled=LONG_AGO, limit=10)
    ledger.event_marks.told(TOPIC, "audit", number)
    assert told_of_jobs(ledger) == []
    ((_, line),) = ledger.event_marks.audit_after(other, settled=LONG_AGO, limit=10)
    assert line.job == job


def test_decisions_are_told_with_their_group(ledger: Ledger):
    marks, groups = ledger.event_marks, ledger.groups
    marks.decisions_after(TOPIC, settled=LONG_AGO, limit=10)
    decision = RampDecision(5.0, "raise", 7.5, 10, "healthy and used")
    groups.save(groups.state("mail"), expected_version=0, decision=decision)
    ((_, group, told),) = marks.decisions_after(TOPIC, settled=LONG_AGO, limit=10)
    assert (group, told) == ("mail", decision)


def test_jobs_that_were_begun_are_told_once(ledger: Ledger):
    marks = ledger.event_marks
    assert marks.started_after(TOPIC, limit=10) == []
    job = register(ledger)
    assert marks.started_after(TOPIC, limit=10) == []
    now = 1_800_000_000.123456
    assert ledger.jobs.advance(job, Chunks(0, 1, 0), scheduled_until=now, now=now)
    ((number, name, group, at),) = marks.started_after(TOPIC, limit=10)
    assert (name, group, at) == (job, "mail", 1_800_000_000.123456)
    marks.told(TOPIC, "started", number)
    assert marks.started_after(TOPIC, limit=10) == []


@pytest.mark.parametrize(
    ("numbers", "settled", "whole"),
    [
        ([], 0.0, 0),
        ([6, 7, 8], 0.0, 3),
        ([6, 8, 9], 0.0, 1),
        ([7, 8], 0.0, 0),
        ([7, 9], 100.0, 2),
    ],
)
def test_what_stands_behind_a_gap_is_kept_back_until_the_gap_is_settled(numbers, settled, whole):
    assert without_gaps([(each, 50.0) for each in numbers], 5, settled=settled) == whole
