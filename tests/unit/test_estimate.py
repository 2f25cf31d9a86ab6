"""What a job will take, against the published figures of the 500/50/5 curve."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.estimate import Estimate, estimate
from injector.pacing.ramp import Ramp

ONE_QUEUE = Ramp()


@pytest.mark.parametrize(
    ("records", "ramp", "minutes"),
    [
        (100_000, ONE_QUEUE, 3.3),
        (1_000_000, ONE_QUEUE, 17.8),
        (10_000_000, ONE_QUEUE, 43.4),
        (100_000_000, ONE_QUEUE, 80.5),
        (1_000_000_000, ONE_QUEUE, 380.5),
        (1_000_000_000, Ramp(max_rate=1000.0), 222.1),
    ],
)
def test_time_to_create_is_that_of_the_curve(records, ramp, minutes):
    found = estimate(records, ramp, task_bytes=500)
    assert round(found.seconds / 60, 1) == pytest.approx(minutes, abs=0.051)


def test_steps_are_those_of_the_curve():
    found = estimate(10_000_000, ONE_QUEUE, task_bytes=500)
    assert [step.at_s for step in found.steps] == [300.0 * n for n in range(9)]
    assert [round(step.injector_rate, 3) for step in found.steps[:4]] == [5, 7.5, 11.25, 16.875]
    assert [step.records_before for step in found.steps[:3]] == [0, 150_000, 375_000]
    assert round(found.peak_create_rate) == 12_814


def test_steps_end_where_the_rate_no_longer_grows():
    found = estimate(1_000_000_000, ONE_QUEUE, task_bytes=500)
    assert found.steps[-1].create_rate == 50_000
    assert len(found.steps) == ONE_QUEUE.steps_to_cap() + 1


@pytest.mark.parametrize(
    ("ramp", "queues"),
    [(Ramp(max_rate=5), 1), (Ramp(max_rate=200), 40), (Ramp(max_rate=200.5), 41)],
)
def test_queues_needed_dispatch_as_fast_as_the_job_creates(ramp, queues):
    assert estimate(10**9, ramp, task_bytes=500).queues_needed == queues


@pytest.mark.parametrize(
    ("task_bytes", "operations"),
    [(1, 202_000), (32 * 1024, 202_000), (32 * 1024 + 1, 402_000), (96 * 1024, 602_000)],
)
def test_operations_count_creates_and_dispatches_in_units_of_32_kib(task_bytes, operations):
    assert estimate(100_000, ONE_QUEUE, task_bytes=task_bytes).operations == operations


def test_rejected_records_cost_no_operations_and_keep_their_place():
    found = estimate(100_000, ONE_QUEUE, task_bytes=1, rejected=50_000)
    assert (found.chunks, found.operations) == (1000, 102_000)


@pytest.mark.parametrize(
    ("operations", "usd"), [(0, 0), (1_000_000, 0), (3_500_000, 1.0), (1_001_000_000, 400.0)]
)
def test_first_million_operations_are_free_and_each_further_one_costs_40_cents(operations, usd):
    found = Estimate(0, 0, 0.0, (), 0, operations)
    assert found.cost_usd == pytest.approx(usd)


def test_no_records_take_nothing():
    assert estimate(0, ONE_QUEUE, task_bytes=0) == Estimate(0, 0, 0.0, (), 0, 0)


@given(st.integers(1, 10**10), st.floats(0.01, 500), st.floats(1, 1.5), st.floats(1, 3600))
def test_more_records_never_take_less(records, cap, growth, interval_s):
    ramp = Ramp(initial_rate=min(5.0, cap), growth=growth, interval_s=interval_s, max_rate=cap)
    one = estimate(records, ramp, task_bytes=1)
    more = estimate(records + 100, ramp, task_bytes=1)
    assert more.seconds >= one.seconds
    assert more.peak_create_rate >= one.peak_create_rate
    assert more.operations > one.operations
