"""What holds and cuts the rate, and how it climbs again."""

import itertools

import pytest

from injector.control.decision import Kind, Observation, Thresholds, decide
from injector.control.ramp_state import evidence_from
from injector.pacing.histogram import Histogram
from tests.unit.ramped import CUTS, MINUTE, RAMP, STEP, T0, World, at_due, due, seen

WARNINGS = {
    "1 % faults": {"signals": {"accepted": 990, "faults": {"UNAVAILABLE": 10}}},
    "slow creates": {"signals": {"latency": Histogram.of([0.5] * 200)}},
    "target errors": {"signals": {"targets": {"OK": 950, "RESOURCE_EXHAUSTED": 50}}},
    "backlog": {"backlog_s": 181.0},
}
HARMLESS = {
    "0.9 % faults": {"signals": {"accepted": 9910, "faults": {"UNAVAILABLE": 90}}},
    "a latency of twice the usual": {"signals": {"latency": Histogram.of([0.36] * 200)}},
    "target errors of 4 %": {"signals": {"targets": {"OK": 960, "INTERNAL": 40}}},
    "targets that refuse": {"signals": {"targets": {"OK": 500, "NOT_FOUND": 500}}},
    "a short backlog": {"backlog_s": 179.0},
    "few creates, half of them failed": {"signals": {"accepted": 40, "faults": {"INTERNAL": 40}}},
}


@pytest.mark.parametrize("warning", WARNINGS.values(), ids=WARNINGS)
def test_warning_holds_the_rate(warning):
    decision = at_due(due(50.0, baseline_s=0.2), seen(50.0, **warning))
    assert (decision.kind, decision.rate) == (Kind.HOLD, 50)


@pytest.mark.parametrize("harmless", HARMLESS.values(), ids=HARMLESS)
def test_what_stays_below_the_thresholds_does_not(harmless):
    assert at_due(due(50.0, baseline_s=0.2), seen(50.0, **harmless)).kind is Kind.RAISE


@pytest.mark.parametrize("overload", CUTS.values(), ids=CUTS)
def test_overload_halves_the_rate_at_once(overload):
    decision = decide(due(50.0), seen(50.0, **overload), T0 + 250, ramp=RAMP)
    assert (decision.kind, decision.rate, decision.apply) == (Kind.CUT, 25, True)


@pytest.mark.parametrize("overload", CUTS.values(), ids=CUTS)
def test_cut_ends_at_the_initial_rate(overload):
    assert at_due(due(7.5), seen(7.5, **overload)).rate == 5
    assert at_due(due(5.0), seen(5.0, **overload)).kind is Kind.HOLD


def test_one_piece_of_evidence_cuts_only_once():
    cut = at_due(due(50.0), seen(50.0, **CUTS["5 % faults"]))
    since = evidence_from(cut.state, now=T0 + STEP + 30, interval_s=STEP)
    assert since >= T0 + STEP
    again = decide(cut.state, Observation(span_s=30.0), T0 + STEP + 30, ramp=RAMP)
    assert again.rate == 25


def test_reason_names_the_codes_and_the_share():
    faults = {"UNAVAILABLE": 40, "ABORTED": 20, "INTERNAL": 5}
    decision = at_due(due(50.0), seen(50.0, signals={"accepted": 935, "faults": faults}))
    assert decision.reason == "6.5% of the creates end in UNAVAILABLE, ABORTED"


def test_climb_after_a_cut_stops_at_the_last_good_rate():
    world = World()
    for _ in range(16):
        world.tick(MINUTE)
    assert (world.state.rate, world.state.good_rate) == (16.875, 11.25)
    cut = decide(world.state, seen(16.875, **CUTS["5 % faults"]), world.now + MINUTE, ramp=RAMP)
    world.state, world.now, world.written = cut.state, world.now + MINUTE, cut.rate
    rates = [rate for rate, _ in itertools.groupby(world.tick(MINUTE).rate for _ in range(16))]
    assert rates == [8.4375, 11.25, 16.875, 25.3125]


def test_baseline_is_the_lowest_latency_of_a_healthy_time():
    first = at_due(due(5.0, baseline_s=0.2), seen())
    assert first.state.baseline_s == pytest.approx(0.05, rel=0.2)
    worse = at_due(due(5.0, baseline_s=0.05), seen(signals={"latency": Histogram.of([0.08] * 200)}))
    assert worse.state.baseline_s == 0.05


def test_latency_too_short_to_matter_never_warns():
    quick = seen(signals={"latency": Histogram.of([0.04] * 200)})
    assert at_due(due(5.0, baseline_s=0.002), quick).kind is Kind.RAISE


def test_fast_clock_makes_this_machines_own_latency_longer_and_no_warning():
    slow = seen(signals={"latency": Histogram.of([1.0] * 200)})
    limits = Thresholds().on_clock(30.0)
    decision = decide(due(5.0, baseline_s=0.3), slow, T0 + STEP, ramp=RAMP, limits=limits)
    assert decision.kind is Kind.RAISE
    assert Thresholds().on_clock(0.5) == Thresholds()
