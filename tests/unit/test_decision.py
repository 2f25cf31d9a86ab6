"""When the controller takes a step, and how far."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.control.decision import Kind, RampState, decide
from injector.pacing.ramp import Ramp
from tests.unit.ramped import MINUTE, RAMP, STEP, T0, World, at_due, due, raises, seen


def test_healthy_group_climbs_step_by_step_with_its_fractions():
    world = World()
    rates = [world.tick(MINUTE).rate for _ in range(70)]
    assert [rate for rate, _ in itertools.groupby(rates)][:5] == [5, 7.5, 11.25, 16.875, 25.3125]
    assert rates[-1] == 500


def test_rate_climbs_on_the_curve_of_the_plan():
    world = World()
    for minute in range(90):
        assert world.tick(MINUTE).rate == pytest.approx(RAMP.rate_at(minute * MINUTE))


@pytest.mark.parametrize(("elapsed", "rate"), [(0, 5), (299, 5), (300, 7.5), (301, 7.5)])
def test_step_comes_at_five_minutes_and_not_a_second_earlier(elapsed, rate):
    state = due(elapsed_s=elapsed - 1.0, ticked_at=T0 + STEP - 1)
    assert at_due(state, seen()).rate == rate


def test_tick_is_told_how_long_the_next_step_is_off():
    state = due(elapsed_s=200.0, ticked_at=T0 + STEP - 60)
    assert at_due(state, seen()).due_in_s == 40


def test_state_that_went_through_the_ledger_goes_on_where_it_was():
    world = World()
    for _ in range(40):
        world.tick(MINUTE)
        world.state = RampState.from_json(world.state.to_json())
    assert world.state.rate == pytest.approx(RAMP.rate_at(39 * MINUTE))


@given(st.integers(0, 500))
def test_burst_beyond_the_rate_is_expected_and_makes_the_step_no_larger(burst):
    """A queue that has lain idle spends its whole bucket at once."""
    observed = seen()
    signals = replace(
        observed.signals,
        fan_outs=observed.signals.fan_outs + burst,
        accepted=observed.signals.accepted + 100 * burst,
    )
    decision = at_due(due(), replace(observed, signals=signals))
    assert (decision.kind, decision.rate) == (Kind.RAISE, 7.5)


# Never too fast


gaps_between_ticks = st.one_of(st.floats(0, 180), st.floats(0, 180), st.floats(0, 2000))
pauses = st.lists(gaps_between_ticks, min_size=5, max_size=60)
demands = st.floats(0, 600)
jumps_of_the_clock = st.sampled_from([0.0] * 20 + [-3600.0, 3600.0])


@settings(max_examples=200)
@given(pauses, st.lists(demands, min_size=60, max_size=60), st.booleans())
def test_no_rate_is_over_half_as_much_again_as_was_reached_in_the_five_minutes_before(
    gaps, wanted, eager
):
    world = World()
    for gap, demand in zip(gaps, wanted, strict=False):
        before = world.state
        decision = world.tick(gap % 100 if eager else gap, demand=demand)
        if decision.kind is Kind.RAISE:
            reached = world.reached(world.now - STEP, world.now)
            assert decision.rate <= 1.5 * reached / 0.99 + 1e-9
            assert decision.rate <= 1.5 * before.rate
        elif decision.kind is not Kind.START:
            assert decision.rate <= before.rate


@settings(max_examples=200)
@given(pauses, st.lists(jumps_of_the_clock, min_size=60, max_size=60))
def test_never_two_steps_within_five_minutes_of_real_time_whatever_the_clock_says(gaps, jumps):
    world = World()
    for gap, jump in zip(gaps, jumps, strict=False):
        world.offset += jump
        world.tick(gap)
    for earlier, later in itertools.pairwise(raises(world)):
        assert later - earlier >= STEP - 0.01


@given(st.floats(181, 1e6))
def test_missed_ticks_are_not_caught_up(gap):
    world = World()
    for _ in range(4):
        world.tick(MINUTE)
    assert world.tick(gap).rate == 5
    assert world.tick(MINUTE, demand=0).rate == 5


def test_controller_that_was_away_for_an_hour_goes_on_from_where_it_was():
    world = World()
    for _ in range(16):
        world.tick(MINUTE)
    assert world.state.rate == 16.875
    away = world.tick(3600)
    assert (away.kind, away.rate) == (Kind.HOLD, 16.875)
    assert away.notices[0] == "the last 3600 s, paused or without a tick, do not count"


def test_clock_set_back_by_an_hour_delays_the_next_step_by_minutes():
    world = World()
    for _ in range(4):
        world.tick(MINUTE)
    world.offset = -3600.0
    assert "set back by 3540 s" in world.tick(MINUTE).notices[0]
    assert [world.tick(MINUTE).rate for _ in range(4)] == [5, 5, 7.5, 7.5]


@given(st.lists(st.floats(-60, 60), min_size=2, max_size=40))
def test_controllers_whose_clocks_differ_count_no_time_twice(skews):
    """Each tick reads another clock; what is counted is no more than what the fastest showed."""
    state, clocks = due(50.0, elapsed_s=0.0, ticked_at=T0), [T0]
    for number, skew in enumerate(skews):
        clocks.append(T0 + 5 * number + skew)
        state = decide(state, seen(50.0), clocks[-1], ramp=replace(RAMP, interval_s=1e6)).state
    assert state.elapsed_s == pytest.approx(max(clocks) - T0)


def test_second_tick_of_the_same_moment_changes_nothing():
    first = at_due(due(), seen())
    again = decide(first.state, seen(7.5, span_s=0), T0 + STEP, ramp=RAMP)
    assert (first.kind, again.kind) == (Kind.RAISE, Kind.HOLD)
    assert (again.rate, again.apply) == (7.5, False)


def test_two_controllers_with_the_same_state_want_the_same():
    assert at_due(due(), seen()) == at_due(due(), seen())


# Used, reached, capped


@pytest.mark.parametrize(("used", "kind"), [(0.79, Kind.HOLD), (0.81, Kind.RAISE)])
def test_rate_that_was_not_used_is_not_raised(used, kind):
    assert at_due(due(100.0), seen(100 * used)).kind is kind


def test_rate_at_which_nothing_was_ever_done_is_not_raised():
    """With work to do and nothing dispatched nobody has tried the rate that it began at."""
    state = RampState()
    for minute in range(60):
        seen_nothing = replace(seen(0.0), active_at=None)
        decision = decide(state, seen_nothing, T0 + 60 * minute, ramp=RAMP)
        state = decision.state
        assert decision.kind in {Kind.START, Kind.HOLD}, decision.reason
    assert state.rate == RAMP.start_rate
    assert "was not used" in decision.reason


def test_step_goes_from_what_was_reached():
    assert at_due(due(100.0), seen(90.0)).rate == pytest.approx(135, rel=0.01)


def test_what_is_under_way_counts_as_reached():
    assert at_due(due(100.0), seen(100.0, fan_out_s=20.0)).rate == 150


def test_rate_far_above_its_use_follows_it_down():
    decision = at_due(due(200.0), seen(10.0))
    assert (decision.kind, decision.apply) == (Kind.EASE, True)
    assert decision.rate == pytest.approx(15, rel=0.02)


def test_rate_does_not_follow_its_use_below_the_initial_one():
    assert at_due(due(5.0), seen(0.1)).rate == 5


def test_too_short_a_look_raises_nothing():
    assert at_due(due(), seen(span_s=100)).kind is Kind.HOLD


def test_rate_stays_at_the_cap():
    decision = at_due(due(500.0), seen(500.0))
    assert (decision.kind, decision.rate) == (Kind.HOLD, 500)


def test_last_step_ends_at_the_cap():
    assert at_due(due(432.0), seen(432.0)).rate == 500


def test_cap_that_was_lowered_takes_effect_at_once():
    decision = decide(due(100.0), seen(100.0), T0 + 250, ramp=Ramp(max_rate=40))
    assert (decision.kind, decision.rate, decision.apply) == (Kind.CUT, 40, True)
