import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.pacing.ramp import CHUNK, Ramp, warmth

MINUTE = 60.0
API_QUOTA = Ramp(max_rate=1000)  # 100,000 creates/s

curves = st.builds(
    Ramp,
    initial_rate=st.floats(0.1, 50),
    growth=st.just(1.0) | st.floats(1.01, 4),
    interval_s=st.floats(1, 3600),
    max_rate=st.floats(0.1, 20_000),
)


@pytest.mark.parametrize(
    ("minutes", "rate"), [(0, 5), (15, 16.875), (30, 56.95), (45, 192.2), (60, 500), (600, 500)]
)
def test_rate_follows_the_published_table(minutes: float, rate: float) -> None:
    assert Ramp().rate_at(minutes * MINUTE) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize(
    ("ramp", "tasks", "minutes"),
    [
        (Ramp(), 100_000, 3.3),
        (Ramp(), 1_000_000, 17.8),
        (Ramp(), 10_000_000, 43.4),
        (Ramp(), 100_000_000, 80.5),
        (Ramp(), 1_000_000_000, 380.5),
        (API_QUOTA, 1_000_000_000, 222.1),
    ],
)
def test_job_takes_the_published_time(ramp: Ramp, tasks: int, minutes: float) -> None:
    assert round(ramp.time_of(tasks / CHUNK) / MINUTE, 1) == minutes


def test_uncapped_curve_reaches_740_000_creates_a_second_after_90_minutes() -> None:
    assert Ramp(max_rate=1e9).rate_at(90 * MINUTE) * CHUNK == pytest.approx(740_000, rel=0.01)


@pytest.mark.parametrize(
    ("t", "rate"), [(-1, 0), (0, 5), (299.999, 5), (300, 7.5), (600, 11.25), (900, 16.875)]
)
def test_rate_steps_at_whole_intervals_and_keeps_its_fractions(t: float, rate: float) -> None:
    assert Ramp().rate_at(t) == rate


@pytest.mark.parametrize(
    ("steeper", "named"),
    [
        (Ramp(initial_rate=5.01), "initial_rate 5.01/s is over 5/s"),
        (Ramp(growth=1.51), "growth 1.51 each 300 s is x1.51 within 5 minutes"),
        (Ramp(growth=1.1, interval_s=60), "growth 1.1 each 60 s is x1.61 within 5 minutes"),
        (Ramp(growth=1.22, interval_s=149), "x1.82 within 5 minutes"),
    ],
)
def test_each_way_of_being_too_steep_is_named(steeper: Ramp, named: str) -> None:
    assert len(steeper.dangers()) == 1
    assert named in steeper.dangers()[0]


def test_curve_of_single_operations_may_begin_at_500_a_second():
    assert Ramp(initial_rate=500.0, max_rate=20_000.0).dangers(safe_rate=500.0) == ()
    assert len(Ramp(initial_rate=501.0).dangers(safe_rate=500.0)) == 1


def test_gentler_curve_has_no_dangers() -> None:
    assert Ramp(initial_rate=0.1, growth=1.05, interval_s=60).dangers() == ()


@pytest.mark.parametrize(("queues", "cap"), [(1, 500), (3, 1500), (9, 2000)])
def test_cap_is_500_for_each_injector_queue(queues: int, cap: float) -> None:
    assert Ramp(max_rate=2000).within(queues).rate_at(86_400) == cap


def test_warm_group_begins_where_it_has_been() -> None:
    assert Ramp(warm_rate=100).rate_at(0) == 100
    assert Ramp().starting_at(40.5).rate_at(300) == 60.75


def test_warm_rate_above_the_cap_is_capped() -> None:
    assert Ramp(max_rate=50, warm_rate=100).rate_at(0) == 50


@given(curves, st.floats(0, 1e9))
def test_time_of_is_the_inverse_of_total_by(ramp: Ramp, n: float) -> None:
    assert ramp.total_by(ramp.time_of(n)) == pytest.approx(n, rel=1e-6, abs=1e-6)


@given(curves, st.floats(0, 1e7), st.floats(0, 1e5))
def test_total_grows_by_no_more_than_the_rate_at_the_end(
    ramp: Ramp, t: float, later: float
) -> None:
    grown = ramp.total_by(t + later) - ramp.total_by(t)
    slack = 1e-6 + 1e-9 * ramp.total_by(t + later)
    assert ramp.rate_at(t) * later - slack <= grown <= ramp.rate_at(t + later) * later + slack


@given(curves, st.integers(0, 60))
def test_closed_form_equals_the_sum_of_the_steps(ramp: Ramp, steps: int) -> None:
    summed, rate = 0.0, ramp.start_rate
    for _ in range(steps):
        summed, rate = summed + rate * ramp.interval_s, ramp.next_rate(rate)
    assert ramp.total_by(steps * ramp.interval_s) == pytest.approx(summed, rel=1e-6)


@given(curves, st.floats(0, 1e7))
def test_rate_never_passes_the_cap(ramp: Ramp, t: float) -> None:
    assert ramp.rate_at(t) <= ramp.max_rate


@given(curves, st.floats(0, 1e6), st.floats(0, 1))
def test_rate_grows_by_at_most_one_step_in_an_interval(ramp: Ramp, t: float, part: float) -> None:
    assert ramp.rate_at(t + part * ramp.interval_s) <= ramp.rate_at(t) * ramp.growth * (1 + 1e-9)


@pytest.mark.parametrize(
    ("idle_s", "rate"), [(0, 500), (60, 500), (120, 333.3), (300, 98.8), (14 * 60, 5), (1e9, 5)]
)
def test_warmth_lasts_a_minute_and_then_fades_by_a_step_a_minute(
    idle_s: float, rate: float
) -> None:
    assert warmth(Ramp(), reached=500, idle_s=idle_s) == pytest.approx(rate, rel=1e-3)


def test_stated_warm_rate_outlasts_idleness() -> None:
    assert warmth(Ramp(warm_rate=80), reached=500, idle_s=1e6) == 80


def test_group_that_never_ran_is_cold() -> None:
    assert warmth(Ramp(), reached=0, idle_s=0) == 5


def test_clock_set_back_does_not_warm_a_group() -> None:
    assert warmth(Ramp(), reached=20, idle_s=-3600) == 20
