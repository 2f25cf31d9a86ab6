"""The rules of a diagnosis, over evidence made by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.api.views import rpc_code
from injector.emulator.state.task import Outcome
from injector.queues.diagnosis import (
    Calls,
    Cause,
    Confidence,
    Evidence,
    Figures,
    Latency,
    Minute,
    QueueEvidence,
    diagnose,
    history,
)
from injector.queues.diagnosis.codes import grpc_name, http_status, in_words

CODES = ("OK", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "INTERNAL", "NOT_FOUND", "DEADLINE_EXCEEDED")
counts = st.integers(0, 30_000)
minutes = st.lists(
    st.builds(
        Minute,
        at=st.just(0.0),
        attempts=st.dictionaries(st.sampled_from(CODES), counts, max_size=3),
        left=counts,
        late_s=st.none() | st.floats(0, 1e5),
        depth=st.none() | st.floats(0, 1e7),
    ),
    max_size=30,
)
queues = st.builds(
    QueueEvidence,
    name=st.just("projects/p/locations/l/queues/q"),
    state=st.sampled_from(["RUNNING", "PAUSED", "DISABLED"]),
    rate=st.floats(0.01, 500),
    concurrency=st.integers(1, 5000),
    minutes=minutes.map(lambda rows: tuple(replace(m, at=60.0 * n) for n, m in enumerate(rows))),
    latency=st.none() | st.builds(Latency, st.floats(0.001, 900), st.floats(0.001, 900), counts),
)


def queue_of(rates, *, late_s=30.0, depth=5000.0, codes=("OK",), **settings: object):
    """Return a queue that dispatched at these rates minute by minute."""
    rows = tuple(
        Minute(
            60.0 * number,
            {code: round(60 * rate / len(codes)) for code in codes},
            round(60 * rate),
            late_s,
            depth,
        )
        for number, rate in enumerate(rates)
    )
    return QueueEvidence(
        "q", "RUNNING", **{"rate": 100.0, "concurrency": 1000, **settings}, minutes=rows
    )


def causes_of(found, creates=()):
    return {verdict.cause for verdict in diagnose(Evidence((found,), creates)).verdicts}


@given(
    st.lists(queues, min_size=1, max_size=4),
    st.lists(
        st.builds(Calls, st.just(0.0), st.dictionaries(st.sampled_from(CODES), counts)), max_size=12
    ),
)
def test_any_evidence_gets_an_answer_with_words_and_no_cause_twice(found, creates):
    diagnosis = diagnose(Evidence(tuple(found), tuple(creates)))
    causes = [verdict.cause for verdict in diagnosis.verdicts]
    assert len(causes) == len(set(causes))
    assert all(verdict.why and verdict.advice for verdict in diagnosis.verdicts)


@given(st.lists(st.floats(0.1, 400), min_size=6, max_size=20), st.floats(0, 4.9))
def test_queue_whose_tasks_leave_in_time_without_errors_is_never_held_back(rates, late_s):
    assert causes_of(queue_of(rates, late_s=late_s, rate=500.0)) == set()


@given(st.floats(1, 500))
def test_queue_at_its_own_rate_is_never_called_cold(limit):
    found = causes_of(queue_of([0, 0, 0, 0, limit, limit], rate=limit))
    assert found == {Cause.OWN_LIMIT}


def test_hundred_at_once_of_two_seconds_let_fifty_a_second_through():
    figures = Figures(50.0, 500.0, 100, {}, latency_s=2.0)
    assert (figures.capacity, figures.possible, figures.in_flight) == (50.0, 50.0, 100.0)


def test_cold_queue_says_when_it_will_be_warm():
    diagnosis = diagnose(Evidence((queue_of([0, 0, 0, 1, 5, 25]),)))
    assert "reaches 100/s in 1 min" in diagnosis.verdicts[0].why


def test_queue_that_stands_still_though_tasks_are_due_is_left_unexplained():
    diagnosis = diagnose(Evidence((queue_of([0, 0, 0, 20, 30, 0]),)))
    assert diagnosis.verdicts == ()
    assert diagnosis.notes


def test_queue_that_was_warm_since_it_started_is_not_cold_any_more():
    codes = ("OK", "UNAVAILABLE")
    assert causes_of(queue_of([0, 0, 0, 50, 100, 40, 20], codes=codes)) == {Cause.CONGESTION}


def test_unlogged_queue_that_stays_flat_is_held_by_its_concurrency():
    diagnosis = diagnose(Evidence((queue_of([20.0] * 8),)))
    (verdict,) = diagnosis.verdicts
    assert (verdict.cause, verdict.confidence) == (Cause.CONCURRENCY, Confidence.MEDIUM)
    assert "takes 50 s for a task" in verdict.why


def test_logged_queue_with_room_for_more_that_stays_flat_is_left_unexplained():
    diagnosis = diagnose(Evidence((queue_of([20.0] * 8, latency=Latency(0.1, 0.1, 50)),)))
    assert diagnosis.verdicts == ()
    assert "no cause that is known here explains it" in diagnosis.notes[0]


def test_refusals_of_a_target_are_noted_and_are_no_congestion():
    diagnosis = diagnose(Evidence((queue_of([10] * 6, late_s=0.1, codes=("OK", "NOT_FOUND")),)))
    assert diagnosis.verdicts == ()
    assert "50 % of the attempts end in NOT_FOUND (HTTP 404)" in diagnosis.notes[0]


def test_creates_that_outgrow_500_50_5_and_are_refused_are_told_with_the_growth():
    calm = [Calls(60.0 * n, {"OK": 60_000}) for n in range(10)]
    wild = [Calls(60.0 * (10 + n), {"OK": 120_000, "UNAVAILABLE": 1500}) for n in range(2)]
    diagnosis = diagnose(Evidence((queue_of([1] * 6, late_s=0.0),), (*calm, *wild)))
    (verdict,) = diagnosis.verdicts
    assert verdict.cause is Cause.CREATES
    assert verdict.confidence is Confidence.HIGH
    assert "from 1,000 to 2,025/s within 5 minutes, where 500/50/5 allows 1,500/s" in verdict.why


def test_existing_and_wrong_tasks_are_no_overload_of_creates():
    calls = [Calls(60.0 * n, {"ALREADY_EXISTS": 500, "INVALID_ARGUMENT": 500}) for n in range(5)]
    assert causes_of(queue_of([1] * 6, late_s=0.0), creates=tuple(calls)) == set()


def test_queues_of_one_cause_share_a_verdict_with_their_numbers_together():
    found = diagnose(Evidence(tuple(queue_of([5.0] * 6, rate=5.0) for _ in range(3))))
    (verdict,) = found.verdicts
    assert len(verdict.queues) == 3
    assert (verdict.figures.rate, verdict.figures.limit) == (15.0, 15.0)


@pytest.mark.parametrize(
    "status", [200, 400, 401, 403, 404, 409, 416, 429, 499, 500, 501, 503, 504]
)
def test_codes_are_those_that_the_emulator_reports_for_a_status(status):
    name = rpc_code(Outcome(status)).name
    assert grpc_name(str(status)) == name
    assert http_status(name) == status


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("ok", "OK"),
        (" Unavailable ", "UNAVAILABLE"),
        ("418", "FAILED_PRECONDITION"),
        ("599", "INTERNAL"),
        ("302", "UNKNOWN"),
    ],
)
def test_codes_are_read_however_they_are_written(written, name):
    assert grpc_name(written) == name


def test_code_without_a_status_is_written_alone():
    assert in_words("UNKNOWN") == "UNKNOWN"


def test_history_tells_high_tps_queues_and_groups():
    rows = {
        name: tuple(Minute(60.0 * n, {"OK": left}, left, 0.0, 0.0) for n, left in enumerate(lefts))
        for name, lefts in {"a": (60, 30_000, 60), "b": (90_060, 90_000, 0)}.items()
    }
    past = history(rows, step_s=60.0)
    assert past.high_queues == ("a", "b")
    assert past.is_high_tps_group
    assert (past.dispatched.rate, past.dispatched.at) == (2000.0, 60.0)
    assert past.queue_peaks["a"].rate == 500.0


def test_created_is_what_was_done_and_what_has_come_to_wait():
    rows = (
        Minute(0.0, depth=0.0),
        Minute(60.0, {"OK": 600, "UNAVAILABLE": 900}, 1500, 9.0, 5400.0),
    )
    assert history({"q": rows}, step_s=60.0).created.rate == 100.0
