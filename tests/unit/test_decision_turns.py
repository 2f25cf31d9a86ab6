"""Where a ramp begins, and what others' hands and halts do to it."""

from dataclasses import replace

import pytest

from injector.control.decision import Kind, Observation, RampState, decide
from injector.pacing.ramp import Ramp
from tests.unit.ramped import CUTS, MINUTE, RAMP, STEP, T0, World, at_due, due, seen


def test_group_begins_at_its_initial_rate():
    decision = decide(RampState(), Observation(), T0, ramp=RAMP)
    assert (decision.kind, decision.rate, decision.apply) == (Kind.START, 5, True)


def test_warm_group_begins_at_its_warm_rate():
    assert decide(RampState(), Observation(), T0, ramp=Ramp(warm_rate=80)).rate == 80


def test_finished_group_rests_and_writes_nothing():
    decision = at_due(due(50.0), replace(seen(50.0), work=False))
    assert (decision.kind, decision.rate, decision.apply) == (Kind.FINISH, 50, False)
    assert decision.reason.startswith("no running job")


def test_next_job_begins_where_idleness_has_left_the_group():
    world = World()
    for _ in range(60):
        world.tick(MINUTE)
    for _ in range(3):
        world.tick(MINUTE, demand=0, work=False)
    reached = world.state.rate
    begun = world.tick(1.0, demand=0)
    assert begun.kind is Kind.START
    assert reached / 1.5**2.1 < begun.rate < reached / 1.5**1.9
    assert world.tick(MINUTE).kind is Kind.HOLD


def test_next_job_right_after_goes_on_at_the_rate():
    world = World()
    for _ in range(30):
        world.tick(MINUTE)
    world.tick(30.0, demand=0, work=False)
    assert world.tick(20.0).rate == pytest.approx(RAMP.rate_at(29 * MINUTE))


@pytest.mark.parametrize(("idle_s", "kind"), [(290, Kind.HOLD), (310, Kind.START)])
def test_slow_group_is_not_idle_between_two_operations(idle_s, kind):
    """At one operation in 50 s a whole minute may show none."""
    slow = Ramp(initial_rate=0.01)
    state = due(0.02, elapsed_s=0.0, changed_at=T0 - 1000, active_at=T0 + STEP - idle_s)
    decision = at_due(state, Observation(span_s=240.0), ramp=slow)
    assert decision.kind is kind


def test_long_idle_group_is_cold_again():
    world = World()
    for _ in range(60):
        world.tick(MINUTE)
    assert world.tick(86_400, demand=0).rate == 5


def test_group_that_waits_for_its_first_fan_out_does_not_begin_again_and_again():
    world = World()
    kinds = [world.tick(20.0, demand=0).kind for _ in range(10)]
    assert kinds.count(Kind.START) == 1


@pytest.mark.parametrize("state", ["paused", "disabled"])
def test_halted_queue_stops_the_ramps_clock_and_is_named(state):
    world = World()
    for _ in range(5):
        world.tick(MINUTE)
    decision = world.tick(MINUTE, demand=0, halted=state)
    assert (decision.kind, decision.rate, decision.apply) == (Kind.HOLD, 5, False)
    assert state in decision.reason
    assert world.state.elapsed_s == 240
    assert world.tick(MINUTE).kind is not Kind.START


def test_long_pause_cools_the_group():
    world = World()
    for _ in range(60):
        world.tick(MINUTE)
    for _ in range(20):
        world.tick(MINUTE, demand=0, halted="paused")
    decision = world.tick(MINUTE, demand=0)
    assert (decision.kind, decision.rate) == (Kind.START, 5)


# Rates that others set


def test_rate_that_someone_lowered_is_taken_over_and_climbed_from():
    decision = at_due(due(50.0), seen(20.0, found_rate=20.0))
    assert (decision.kind, decision.rate, decision.apply) == (Kind.HOLD, 20, False)
    assert "someone set the injector queues to 20/s" in decision.reason
    assert decision.state.elapsed_s == 0


def test_rate_that_someone_raised_is_reported_and_left_alone():
    decision = at_due(due(50.0), seen(50.0, found_rate=400.0))
    assert (decision.rate, decision.apply) == (75, False)
    assert "someone set the injector queues to 400/s" in decision.notices[0]


def test_rate_that_someone_raised_does_not_survive_a_cut():
    decision = at_due(due(50.0), seen(50.0, found_rate=400.0, **CUTS["5 % faults"]))
    assert (decision.rate, decision.apply) == (25, True)


def test_rate_that_the_service_rounded_is_nobodys_doing():
    decision = at_due(due(16.875), seen(16.875, found_rate=16.87))
    assert (decision.kind, decision.notices) == (Kind.RAISE, ())
