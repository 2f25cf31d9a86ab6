"""What the queues are told, what the feed is told, and what is saved."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.control.decision import Kind, Observation, RampState, Thresholds, decide
from injector.control.ramp_state import evidence_from
from injector.errors import Misused
from injector.pacing.histogram import Histogram
from injector.pacing.ramp import Ramp
from injector.pacing.signals import Signals
from tests.unit.ramped import FAULTS, RAMP, STEP, T0, at_due, due, seen


def test_concurrency_follows_littles_law():
    decision = at_due(due(50.0), seen(50.0, fan_out_s=4.0))
    assert decision.concurrency == pytest.approx(75 * 4 * 2, rel=0.2)


def test_concurrency_is_never_less_than_a_seconds_worth():
    assert at_due(due(50.0), seen(50.0, fan_out_s=0.01)).concurrency == 75


@given(st.floats(1, 500), st.floats(0.01, 45), st.integers(1, 5000), st.integers(0, 5000))
def test_concurrency_is_never_more_than_the_service_takes(rate, fan_out_s, capacity, before):
    state = due(rate, concurrency=before)
    decision = at_due(state, seen(rate, fan_out_s=fan_out_s, capacity=capacity))
    assert 1 <= decision.concurrency <= capacity


def test_service_that_is_too_small_for_the_rate_is_told_so():
    decision = at_due(due(50.0), seen(50.0, fan_out_s=4.0, capacity=16))
    (notice,) = decision.notices
    assert notice.startswith("75/s needs 300 fan-outs at once, and the service takes 16; ")
    assert at_due(due(50.0), seen(50.0, fan_out_s=0.2, capacity=16)).notices == ()


def test_small_changes_of_the_need_are_not_written():
    calm = due(5.0, elapsed_s=0.0, concurrency=20)
    assert not at_due(calm, seen(fan_out_s=1.5)).apply
    slower = at_due(calm, seen(fan_out_s=4.0))
    assert (slower.kind, slower.apply) == (Kind.HOLD, True)


@pytest.mark.parametrize(
    ("rate", "queues", "share"), [(5, 1, 5), (500, 1, 500), (1000, 2, 500), (648.7, 3, 216.2333)]
)
def test_rate_is_shared_evenly_by_the_injector_queues(rate, queues, share):
    decision = replace(at_due(due(), seen()), rate=rate)
    assert [rate for rate, _ in decision.shares(queues)] == pytest.approx([share] * queues)


def test_no_queue_gets_more_than_the_service_allows():
    decision = replace(at_due(due(), seen()), rate=4000.0, concurrency=100_000)
    assert decision.shares(2) == [(500, 5000)] * 2


@given(st.integers(0, 5000), st.integers(1, 100))
def test_queues_have_the_groups_concurrency_together_and_each_at_least_one(concurrency, queues):
    decision = replace(at_due(due(), seen()), concurrency=concurrency)
    shares = [share for _, share in decision.shares(queues)]
    assert sum(shares) == max(concurrency, queues)
    assert max(shares) - min(shares) <= 1


# The feed's curve


def test_feed_is_told_the_step_that_is_due_next():
    decision = decide(due(50.0), seen(50.0), T0 + 240, ramp=RAMP)
    assert decision.curve.rate_at(T0 + 299 - decision.origin) == 50
    assert decision.curve.rate_at(T0 + 301 - decision.origin) == 75


def test_feed_has_the_next_step_ready_while_something_holds_it():
    decision = at_due(due(50.0), seen(50.0, backlog_s=200.0))
    assert (decision.kind, decision.rate) == ("hold", 50.0)
    assert decision.curve.rate_at(T0 + STEP - decision.origin) == 75
    assert decision.curve.rate_at(T0 + STEP + 180 - decision.origin) == 75


def test_feed_stays_at_the_rate_of_queues_that_someone_set_higher():
    decision = at_due(due(50.0), seen(50.0, backlog_s=200.0, found_rate=500.0))
    assert not decision.apply
    assert decision.curve.rate_at(1e6) == 50


def test_feed_climbs_from_the_first_rate_of_queues_that_were_set_higher_before():
    decision = decide(RampState(), Observation(found_rate=500.0), T0, ramp=RAMP)
    assert decision.apply
    assert decision.curve.rate_at(T0 + 301 - decision.origin) == 1.5 * RAMP.initial_rate


# Dispatches


def test_same_rules_ramp_dispatches():
    """Attempts at the target are the operations, here 4,000/s over ten queues."""
    ramp = Ramp(initial_rate=500.0, max_rate=5000.0, unsafe=True)
    fine = Signals(accepted=960_000, fan_outs=960_000, fan_out_time=Histogram.of([0.3] * 200))
    failing = replace(fine, accepted=900_000, faults={"RESOURCE_EXHAUSTED": 60_000})
    observed = Observation(fine, 240.0, active_at=T0 + STEP)
    assert at_due(due(4000.0), observed, ramp=ramp).rate == 5000
    assert at_due(due(4000.0), replace(observed, signals=failing), ramp=ramp).rate == 2000


# The saved state


def test_empty_text_is_a_ramp_that_never_ran():
    assert RampState.from_json("") == RampState()


def test_saved_state_says_its_format_and_a_later_field_is_passed_over():
    kept = json.loads(RampState(rate=5.0).to_json())
    assert kept["format"] == 1
    assert RampState.from_json(json.dumps(kept | {"later": 1})) == RampState(rate=5.0)


def test_saved_state_of_another_format_is_refused():
    with pytest.raises(Misused, match="format 2"):
        RampState.from_json('{"format": 2}')


@pytest.mark.parametrize(
    ("changed", "now", "since"),
    [
        (T0 + 20, T0 + 400, T0 + 120),
        (T0 + 20, T0 + 200, T0 + 60),
        (T0 + 60, T0 + 200, T0 + 60),
        (T0 + 20, T0 + 30, T0 + 60),
    ],
)
def test_evidence_begins_with_a_whole_minute_after_the_last_change(changed, now, since):
    state = RampState(changed_at=changed)
    assert evidence_from(state, now=now, interval_s=STEP) == since


def test_evidence_is_named_and_leaves_out_what_is_not_known():
    figures = seen(signals={"accepted": 0, "faults": FAULTS}).evidence()
    assert figures["fault_share"] == 1
    assert "backlog_s" not in figures


def test_thresholds_are_the_documented_ones():
    usual = Thresholds()
    assert (usual.used, usual.warn_faults, usual.cut_faults) == (0.8, 0.01, 0.05)
    assert (usual.cut_throttled, usual.warn_targets, usual.cut_to) == (0.10, 0.05, 0.5)
