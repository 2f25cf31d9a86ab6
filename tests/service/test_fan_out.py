from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.errors import Misused, Rejected, Retryable
from injector.fan_out import Verdict
from injector.ledger.ports import JobState
from injector.staging.chunk import Chunk


class Crash(BaseException):
    """The process ends here."""


@dataclass
class CrashingReceipts:
    """Receipts of a process that ends before, or just after, it writes one."""

    receipts: object
    written: bool

    def begin(self, job, chunk):
        return self.receipts.begin(job, chunk)

    def merge(self, receipt, *, now, counts, wait=None):
        if self.written:
            self.receipts.merge(receipt, now=now, counts=counts, wait=wait)
        raise Crash


@dataclass
class CrashingLedger:
    jobs: object
    receipts: CrashingReceipts


def crashing(ledger, *, written):
    return CrashingLedger(ledger.jobs, CrashingReceipts(ledger.receipts, written))


def ordinals_created(bench):
    return sorted(
        int(create.url.rsplit("/", 1)[1]) for create in bench.creator.queues.created.values()
    )


def test_a_chunk_becomes_a_task_for_each_record(bench):
    bench = bench(30)
    answer = bench.deliver(0)
    assert answer.verdict is Verdict.SETTLED
    assert ordinals_created(bench) == list(range(30))
    assert bench.totals.created == 30


def test_a_redelivered_chunk_creates_nothing_new(bench):
    bench = bench(30)
    bench.deliver(0)
    asked = len(bench.creator.asked)
    assert bench.deliver(0).verdict is Verdict.SETTLED
    assert len(bench.creator.asked) == asked


def test_tasks_that_are_there_already_are_settled_as_existed(bench):
    first = bench(30)
    first.deliver(0)
    again = bench(30)
    again.creator.queues = first.creator.queues
    assert again.deliver(0).verdict is Verdict.SETTLED
    assert (again.totals.created, again.totals.existed) == (0, 30)


def test_a_retry_creates_only_what_is_missing(bench):
    bench = bench(30)
    bench.creator.fault = lambda create: "UNAVAILABLE" if create.url.endswith("7") else ""
    answer = bench.deliver(0)
    assert (answer.verdict, answer.new.created_mask.bit_count()) == (Verdict.OPEN, 27)
    assert answer.reason == "3 of 30 records are not taken yet: UNAVAILABLE"
    assert bench.totals.created == 27
    bench.creator.fault, bench.creator.asked = (lambda _create: ""), []
    assert bench.deliver(0).verdict is Verdict.SETTLED
    assert [create.url[-2:] for create in bench.creator.asked] == ["/7", "17", "27"]


def test_one_bad_record_never_stops_its_chunk(bench):
    bench = bench(100, bad=[41])
    assert bench.deliver(0).verdict is Verdict.SETTLED
    (reject,) = bench.ledger.jobs.rejects(bench.job)
    assert (reject.ordinal, reject.line, reject.reason) == (41, 42, "is not JSON")
    assert bench.totals.created == 99


def test_a_record_that_the_service_refuses_is_listed_with_its_reason(bench):
    bench = bench(10)
    bench.creator.fault = lambda create: "INVALID_ARGUMENT" if create.url.endswith("3") else ""
    assert bench.deliver(0).verdict is Verdict.SETTLED
    (reject,) = bench.ledger.jobs.rejects(bench.job)
    assert (reject.line, reject.reason) == (4, "asked for by a test")


@pytest.mark.parametrize("code", ["NOT_FOUND", "FAILED_PRECONDITION", "PERMISSION_DENIED"])
def test_a_queue_at_fault_pauses_the_job_and_keeps_its_records_for_later(bench, code):
    bench = bench(30)
    bench.creator.fault = lambda create: code if create.queue.endswith("welcome-1") else ""
    answer = bench.deliver(0)
    assert answer.verdict is Verdict.PARKED
    assert bench.state.state is JobState.PAUSED
    assert "welcome-1" in bench.state.reason
    lost = [create for create in bench.creator.asked if create.queue.endswith("welcome-1")]
    assert answer.receipt.open_mask.bit_count() == len(lost) > 0
    assert bench.totals.rejected == 0


def in_queue(number, code):
    """Return a fault of all creates in one of the group's queues."""
    return lambda create: code if create.queue.endswith(f"welcome-{number}") else ""


@pytest.mark.parametrize("code", ["UNAVAILABLE", "NOT_FOUND", "PERMISSION_DENIED"])
def test_what_is_left_for_one_sick_queue_of_five_waits_for_it_and_the_job_goes_on(bench, code):
    bench = bench(100, queues=5)
    bench.creator.fault, bench.creator.sick = in_queue(3, code), lambda _create: True
    answer = bench.deliver(0, generation=2)
    assert answer.verdict is Verdict.WAITING
    assert bench.state.state is JobState.RUNNING
    (queue,) = bench.ledger.jobs.waits_for(bench.job)
    assert queue.endswith("welcome-3")
    assert answer.receipt.open_mask.bit_count() == 100 - bench.totals.created > 0
    bench.creator.fault, bench.creator.asked = (lambda _create: ""), []
    assert bench.deliver(0, generation=3).verdict is Verdict.SETTLED
    assert {create.queue for create in bench.creator.asked} == {queue}
    assert (bench.totals.created, bench.totals.waiting) == (100, 0)


def test_a_missing_queue_of_five_pauses_no_job_though_nobody_knew_it_to_be_sick(bench):
    bench = bench(100, queues=5)
    bench.creator.fault = in_queue(3, "NOT_FOUND")
    for generation in range(3):
        assert bench.deliver(0, generation=generation).verdict is Verdict.WAITING
    assert bench.state.state is JobState.RUNNING
    assert bench.totals.waiting == 1


def test_a_missing_queue_of_five_pauses_no_job_that_is_created_in_batches(bench):
    bench = bench(1000, queues=5, mode="batch")
    bench.creator.fault = in_queue(3, "NOT_FOUND")
    verdicts = [bench.deliver(chunk).verdict for chunk in range(10)]
    assert set(verdicts) == {Verdict.SETTLED, Verdict.WAITING}
    assert bench.state.state is JobState.RUNNING
    (queue,) = bench.ledger.jobs.waits_for(bench.job)
    (minute,) = bench.ledger.signals.since("welcome", 0)
    missing = verdicts.count(Verdict.WAITING) * 100
    assert minute.counts[f"sick.{queue}:NOT_FOUND"] == missing


@pytest.mark.parametrize(("queues", "mode"), [(2, "batch"), (1, "single")])
def test_a_missing_queue_of_two_pauses_the_job_at_once(bench, queues, mode):
    bench = bench(100, queues=queues, mode=mode)
    bench.creator.fault = lambda _create: "NOT_FOUND"
    assert bench.deliver(0).verdict is Verdict.PARKED
    assert bench.state.state is JobState.PAUSED


def test_a_chunk_of_one_record_for_a_missing_queue_waits(bench):
    bench = bench(1, queues=5)
    bench.creator.fault = lambda _create: "NOT_FOUND"
    assert bench.deliver(0).verdict is Verdict.WAITING


def test_a_job_whose_queues_are_mostly_missing_is_paused(bench):
    bench = bench(100, queues=5)
    bench.creator.fault = lambda create: "" if create.queue[-1] in "01" else "NOT_FOUND"
    assert bench.deliver(0).verdict is Verdict.PARKED
    assert bench.state.state is JobState.PAUSED
    assert bench.totals.waiting == 0


def test_a_chunk_that_lacks_records_of_a_healthy_queue_is_delivered_again(bench):
    bench = bench(100, queues=5)
    bench.creator.fault = lambda create: "UNAVAILABLE" if create.queue[-1] in "34" else ""
    bench.creator.sick = lambda create: create.queue.endswith("3")
    assert bench.deliver(0).verdict is Verdict.OPEN
    assert bench.totals.waiting == 0
    bench.creator.fault = in_queue(3, "UNAVAILABLE")
    assert bench.deliver(0).verdict is Verdict.WAITING
    (minute,) = bench.ledger.signals.since("welcome", 0)
    assert (minute.counts["fan_outs"], minute.counts["deferred"]) == (2, 1)


def test_a_fault_of_a_queue_not_known_to_be_sick_has_the_chunk_delivered_again(bench):
    bench = bench(100, queues=5)
    bench.creator.fault = in_queue(3, "UNAVAILABLE")
    assert bench.deliver(0).verdict is Verdict.OPEN


def test_a_job_paused_by_a_queue_goes_on_once_it_is_mended_and_resumed(bench):
    bench = bench(30)
    bench.creator.fault = lambda _create: "NOT_FOUND"
    bench.deliver(0)
    bench.creator.fault = lambda _create: ""
    bench.ledger.jobs.set_state(bench.job, JobState.RUNNING, "", now=1.0)
    assert bench.deliver(0).verdict is Verdict.SETTLED
    assert ordinals_created(bench) == list(range(30))


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (JobState.PAUSED, Verdict.PARKED),
        (JobState.CANCELLED, Verdict.DROPPED),
        (JobState.FAILED, Verdict.DROPPED),
    ],
)
def test_a_job_that_does_not_run_creates_nothing(bench, state, verdict):
    bench = bench(30)
    bench.ledger.jobs.set_state(bench.job, state, "told to", now=1.0)
    answer = bench.deliver(0)
    assert (answer.verdict, answer.receipt) == (verdict, None)
    assert bench.creator.asked == []


def test_a_settled_chunk_is_settled_whatever_became_of_its_job(bench):
    bench = bench(150)
    bench.deliver(0)
    bench.ledger.jobs.set_state(bench.job, JobState.CANCELLED, "", now=1.0)
    assert bench.deliver(0).verdict is Verdict.SETTLED


def test_a_task_for_an_unknown_job_is_refused_for_good(bench):
    with pytest.raises(Rejected, match="there is no job other"):
        bench(1).deliver(0, job="other")


def test_a_task_for_a_chunk_beyond_the_last_is_refused_for_good(bench):
    bench = bench(100)
    with pytest.raises(Rejected, match="no chunk 1"):
        bench.deliver(1)
    assert bench.state.state is JobState.RUNNING


@pytest.mark.parametrize("records", [0, 101])
def test_a_chunk_of_the_wrong_size_stops_its_job(bench, records):
    whole = bench(100)
    (chunk,) = whole.chunks
    whole.chunks = [Chunk(0, (chunk.records * 2)[:records])]
    with pytest.raises(Rejected, match=f"{records} records"):
        whole.deliver(0)
    assert whole.state.state is JobState.PAUSED
    assert f"chunk 0: it has {records} records" in whole.state.reason
    assert whole.creator.asked == []


def test_a_store_that_cannot_be_used_stops_its_job(bench):
    bench = bench(10)

    def missing(_job):
        raise Misused("store file:///gone holds nothing")

    bench.open_job = missing
    with pytest.raises(Rejected, match="file:///gone"):
        bench.deliver(0)
    assert bench.state.state is JobState.PAUSED


def test_a_store_that_is_away_hands_the_chunk_back(bench):
    bench = bench(10)

    def away(_job):
        raise Retryable("the bucket does not answer")

    bench.open_job = away
    with pytest.raises(Retryable):
        bench.deliver(0)
    assert bench.state.state is JobState.RUNNING


def test_too_many_rejects_pause_the_job(bench):
    bench = bench(300, bad=[1, 2, 101], rejected_limit=2)
    bench.deliver(0)
    assert bench.state.state is JobState.RUNNING
    assert bench.deliver(1).verdict is Verdict.SETTLED
    assert bench.state.state is JobState.PAUSED
    assert "3 of 300 records are rejected" in bench.state.reason


def test_a_job_resumed_despite_its_rejects_is_not_stopped_for_them_again(bench):
    bench = bench(300, bad=[1, 101], rejected_limit=0)
    bench.deliver(0)
    bench.ledger.jobs.set_state(bench.job, JobState.RUNNING, "", now=2.0)
    bench.deliver(1)
    assert bench.state.state is JobState.RUNNING


def test_a_chunk_delivered_many_times_at_once_is_counted_once(bench):
    bench = bench(100, bad=[3])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(bench.deliver, [0] * 8))
    assert {answer.verdict for answer in answers} == {Verdict.SETTLED}
    totals = bench.totals
    assert (totals.created + totals.existed, totals.rejected, totals.chunks_settled) == (99, 1, 1)
    assert len(bench.creator.queues.created) == 99


def test_what_the_fan_out_saw_is_summed_by_group(bench):
    bench = bench(200)
    bench.creator.fault = lambda create: "UNAVAILABLE" if create.url.endswith("/150") else ""
    bench.deliver(0)
    assert bench.deliver(1).verdict is Verdict.OPEN
    (minute,) = bench.ledger.signals.since("welcome", 0)
    assert (minute.counts["fan_outs"], minute.counts["deferred"]) == (2, 1)


FAULTS = ["", "", "UNAVAILABLE", "lost UNAVAILABLE", "lost DEADLINE_EXCEEDED", "OUT_OF_TIME"]
STEPS = st.tuples(
    st.integers(0, 2),
    st.sampled_from(["none", "before the receipt", "after the receipt"]),
    st.lists(st.sampled_from(FAULTS), min_size=1, max_size=7),
)


def fault_of(create, pattern):
    """Refuse every 17th record for good, and let the others meet the pattern in turn."""
    ordinal = int(create.url.rsplit("/", 1)[1])
    return "INVALID_ARGUMENT" if ordinal % 17 == 5 else pattern[ordinal % len(pattern)]


def deliver_with(bench, chunk, crash, pattern):
    """Deliver a chunk, and check that it is acknowledged only when its receipt is whole."""
    bench.creator.fault = lambda create: fault_of(create, pattern)
    ledger = crashing(bench.ledger, written=crash.startswith("after")) if crash != "none" else None
    try:
        answer = bench.deliver(chunk, ledger=ledger)
    except Crash:
        return
    kept = bench.ledger.receipts.load(bench.job, chunk)
    assert answer.verdict is (Verdict.SETTLED if kept and kept.settled else Verdict.OPEN)


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_every_record_ends_in_exactly_one_outcome_whatever_happens(bench, steps):
    bench = bench(230, bad=[0, 99, 150])
    for chunk, crash, pattern in steps:
        deliver_with(bench, chunk, crash, pattern)
    for chunk in range(3):
        deliver_with(bench, chunk, "none", [""])

    refused = {0, 99, 150} | {n for n in range(230) if n % 17 == 5}
    assert ordinals_created(bench) == sorted(set(range(230)) - refused)
    totals = bench.totals
    assert totals.created + totals.existed == 230 - len(refused)
    assert totals.rejected == len(refused)
    assert {reject.ordinal for reject in bench.ledger.jobs.rejects(bench.job)} == refused
    assert totals.chunks_settled == 3
    for receipt in bench.ledger.receipts.stream(bench.job):
        masks = (receipt.created_mask, receipt.existed_mask, receipt.rejected_mask)
        assert sum(mask.bit_count() for mask in masks) == receipt.records
