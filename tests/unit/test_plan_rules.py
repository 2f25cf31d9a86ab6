import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.pacing.plan import About, Capacity, advise, queues_needed, times, within_quota
from injector.pacing.ramp import Ramp
from injector.simulation import Scenario, Target, simulate

USUAL = Ramp()
PLENTY = Capacity(queues=1000, latency_s=0.1)


def advice(ramp: Ramp = USUAL, capacity: Capacity = PLENTY, *, peak=500.0, injector_queues=1):
    found = advise(ramp, capacity, peak=peak, injector_queues=injector_queues)
    return {each.about: each.text for each in found}


def test_nothing_is_said_when_nothing_stands_in_the_way():
    assert advice() == {}


def test_twenty_thousand_a_second_need_forty_queues():
    said = advice(capacity=Capacity(queues=10), peak=20_000.0)
    assert "need at least 40 queues" in said[About.QUEUES]


def test_hundred_at_once_and_two_seconds_each_are_too_few():
    said = advice(capacity=Capacity(queues=10, concurrency=100, latency_s=2.0), peak=20_000.0)
    assert "1,000 at once" in said[About.CONCURRENCY]
    assert "only 50/s" in said[About.CONCURRENCY]
    assert "max_concurrent_dispatches to 1,000" in said[About.CONCURRENCY]


def test_latency_beyond_any_concurrency_needs_more_queues():
    said = advice(capacity=Capacity(queues=10, latency_s=20.0), peak=4000.0)
    assert "16 queues with 5,000 each" in said[About.CONCURRENCY]


def test_rate_over_500_needs_more_injector_queues():
    said = advice(Ramp(max_rate=1200.0), injector_queues=2)
    assert "needs 3 injector queues" in said[About.INJECTOR_QUEUES]
    assert "stops at 1000/s" in said[About.INJECTOR_QUEUES]


def test_quota_counts_the_injector_tasks_too():
    said = advice(Ramp(max_rate=1000.0), injector_queues=2)
    assert "101,000 requests/s" in said[About.QUOTA]
    assert "lower max_rate to 990" in said[About.QUOTA]
    assert About.QUOTA not in advice(Ramp(max_rate=990.0), injector_queues=2)


def test_steeper_ramp_is_called_unsafe_and_the_reason_is_given():
    said = advice(Ramp(growth=2.0, unsafe=True))
    assert "x2.00 within 5 minutes" in said[About.UNSAFE]
    assert "rising create latency" in said[About.UNSAFE]


@pytest.mark.parametrize(
    ("rate", "queues"), [(500, 1), (500.01, 2), (20_000, 40), (1 / 3 * 3 * 500, 1)]
)
def test_queue_carries_five_hundred_a_second(rate, queues):
    assert queues_needed(rate) == queues


def test_job_on_the_quota_takes_the_published_time():
    ramp = within_quota(Ramp(max_rate=5000.0))
    assert round(times(10**9, ramp, Capacity(1000)).created_s / 60, 1) == 222.1


@pytest.mark.parametrize("records", [1_000_000, 10_000_000, 100_000_000])
@pytest.mark.parametrize("queues", [1, 4, 40, 200])
def test_group_that_keeps_up_finishes_with_the_last_create(records, queues):
    planned = times(records, Ramp(), Capacity(queues, latency_s=0.5))
    keeps_up = Ramp().rate_at(planned.created_s) * 100 <= queues * 500
    assert (planned.finished_s == planned.created_s + 0.5) == keeps_up


@given(st.integers(1, 10**9), st.floats(50, 200_000))
def test_finish_is_what_adding_up_the_steps_gives(records, dispatched):
    capacity = Capacity(1, rate=dispatched, concurrency=10**9)
    backlog = done = 0.0
    end = times(records, Ramp(), capacity)
    steps = math.ceil(min(end.created_s, 20 * 3600) / 300)
    for step in range(steps):
        span = min(300.0, end.created_s - step * 300.0)
        arrived = min(Ramp().rate_at(step * 300.0) * 100 * span, records - done - backlog)
        left = min(backlog + arrived, dispatched * span)
        backlog, done = backlog + arrived - left, done + left
    if end.created_s <= 20 * 3600:
        assert end.finished_s == pytest.approx(end.created_s + backlog / dispatched, rel=1e-3)


@pytest.mark.parametrize("queues", [1, 40])
def test_plan_equals_simulation(queues):
    """With one queue the controller holds for the backlog, so only the wide group agrees."""
    scenario = Scenario(2_000_000, queues=queues, target=Target(latency_s=0.5))
    simulated, planned = (
        simulate(scenario),
        times(2_000_000, Ramp(), Capacity(queues, latency_s=0.5)),
    )
    late = simulated.finished_s - planned.finished_s
    assert late == pytest.approx(0, abs=1) if queues == 40 else late >= -1
