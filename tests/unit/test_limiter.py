import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.pacing.limiter import (
    Pacer,
    Slots,
    call_timeout_s,
    concurrency_needed,
    pool_threads,
    throughput,
)


@given(st.lists(st.floats(0, 10), min_size=2), st.floats(0.1, 100))
def test_pacer_never_exceeds_its_rate(gaps, rate):
    pacer, now, starts = Pacer(rate), 0.0, []
    for gap in gaps:
        now += gap
        starts.append(now + pacer.reserve(now=now))
    for i, start in enumerate(starts):
        within = [other for other in starts[i:] if other < start + 10]
        assert len(within) <= 10 * rate + 1 + 1e-6


@given(st.lists(st.floats(-3600, 3600), min_size=1, max_size=30))
def test_clock_steps_make_nobody_wait_longer_nor_let_all_through(steps):
    pacer, now = Pacer(2.0), 10_000.0
    pacer.reserve(now=now)
    for step in steps:
        now += step
        first, second = pacer.reserve(now=now), pacer.reserve(now=now)
        assert 0 <= first <= 0.5 * 2 * (len(steps) + 1)
        assert second - first == pytest.approx(0.5, abs=1e-6)


def test_pacer_catches_up_on_no_more_than_its_slack():
    pacer = Pacer(1.0, slack_s=2.0)
    pacer.reserve(now=0)
    waits = [pacer.reserve(now=100) for _ in range(5)]
    assert waits == [0, 0, 0, 1, 2]


def test_rate_below_one_a_second_keeps_its_fraction():
    pacer = Pacer(0.1)
    assert [pacer.reserve(now=0) for _ in range(3)] == [0, 10, 20]


@given(st.integers(1, 50), st.lists(st.booleans()))
def test_slots_are_never_more_than_the_limit(limit, takes):
    slots, held = Slots(limit), 0
    for take in takes:
        if take:
            held += slots.take()
        elif held:
            slots.give_back()
            held -= 1
        assert slots.taken == held <= limit


@pytest.mark.parametrize(
    ("left", "most", "timeout"), [(100, 20, 20), (5, 20, 5), (100, 60, 30), (-1, 20, 0)]
)
def test_call_never_asks_for_more_than_the_service_allows(left, most, timeout):
    assert call_timeout_s(left, most_s=most) == timeout


def test_hundred_at_once_and_two_seconds_each_are_fifty_a_second():
    assert throughput(500, 100, 2.0) == 50
    assert throughput(20, 100, 2.0) == 20
    assert throughput(20, 100, 0.0) == 20


@pytest.mark.parametrize(
    ("rate", "latency", "headroom", "needed"),
    [(500, 2, 1, 1000), (7.5, 0.4, 1, 3), (5, 0.1, 1, 1), (5, 0.1, 2, 1), (0.1 * 3, 10, 1, 3)],
)
def test_concurrency_needed_is_rate_times_latency(rate, latency, headroom, needed):
    assert concurrency_needed(rate, latency, headroom=headroom) == needed


@given(st.integers(1, 256))
def test_three_threads_or_more_are_left_when_all_fan_outs_run_and_as_many_wait(fan_outs):
    assert pool_threads(fan_outs) - 2 * fan_outs >= max(3, fan_outs // 4)
