import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.state.dynamics import FAITHFUL, OFF
from injector.errors import Misused
from injector.pacing.ramp import Ramp
from injector.simulation import (
    Burst,
    Scenario,
    Simulation,
    Slowness,
    Span,
    Target,
    simulate,
)

MINUTE = 60.0
OUTAGE = Span(20 * MINUTE, 30 * MINUTE)

spans = st.tuples(st.floats(0, 3000), st.floats(1, 2000)).map(lambda s: Span(s[0], s[0] + s[1]))
bursts = st.lists(
    st.builds(Burst, spans, st.floats(0, 1), st.sampled_from(["UNAVAILABLE", "ABORTED"])),
    max_size=3,
).map(tuple)
scenarios = st.builds(
    Scenario,
    records=st.integers(1, 5_000_000),
    queues=st.integers(1, 200),
    bursts=bursts,
    slow=st.lists(st.builds(Slowness, spans, st.floats(0, 1), st.floats(0.05, 20)), max_size=2).map(
        tuple
    ),
    target=st.builds(
        Target,
        latency_s=st.floats(0.01, 10),
        capacity=st.floats(50, 50_000) | st.just(math.inf),
        bursts=bursts,
    ),
    missed=st.lists(spans, max_size=3).map(tuple),
    dynamics=st.sampled_from([OFF, FAITHFUL]),
    tick_s=st.sampled_from([20.0, 45.0, 60.0, 90.0]),
    until_s=st.just(7200.0),
)


def row_at(simulation: Simulation, minute: float):
    return next(row for row in simulation.rows if row.t_s >= minute * MINUTE)


@settings(max_examples=50)
@given(
    st.integers(1, 2_000_000_000),
    st.floats(0.5, 5),
    st.floats(1.05, 1.5),
    st.sampled_from([300.0, 420.0, 600.0]),
    st.integers(1, 4),
)
def test_plan_equals_simulation_while_all_is_well(records, initial, growth, interval, queues):
    ramp = Ramp(initial, growth, interval, max_rate=500.0 * queues)
    scenario = Scenario(records, ramp, injector_queues=queues, queues=1000)
    planned = ramp.time_of(scenario.chunks)
    assert simulate(scenario).created_s == pytest.approx(planned, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("records", "queues", "minutes"),
    [(10**6, 1, 17.8), (10**8, 1, 80.5), (10**9, 1, 380.5), (10**9, 2, 222.1)],
)
def test_simulated_job_takes_the_published_time(records, queues, minutes):
    ramp = Ramp(max_rate=500.0 if queues == 1 else 1000.0)
    simulation = simulate(Scenario(records, ramp, injector_queues=queues, queues=300))
    assert round(simulation.created_s / MINUTE, 1) == minutes


def test_billion_tasks_are_a_few_hundred_rows():
    assert len(simulate(Scenario(10**9, queues=200)).rows) == 382


@settings(max_examples=25)
@given(scenarios)
def test_no_rate_is_over_half_as_much_again_as_was_reached_in_the_five_minutes_before(scenario):
    rows = simulate(scenario).rows
    for number, row in enumerate(rows):
        if row.decision == "raise":
            window = [each for each in rows[: number + 1] if each.t_s > row.t_s - 300]
            reached = max(each.rate for each in (*window[:-1], rows[number - 1]))
            assert row.rate <= 1.5 * reached + 1e-6
            assert sum(each.decision == "raise" for each in window) == 1


@settings(max_examples=25)
@given(scenarios)
def test_every_record_is_created_once_and_done_once(scenario):
    simulation = simulate(scenario)
    totals = [(row.created, row.done) for row in simulation.rows]
    assert totals == sorted(totals)
    assert all(done <= created <= scenario.records for created, done in totals)
    if simulation.created_s is not None:
        assert simulation.calls >= scenario.records * 0.999


def test_burst_of_faults_holds_and_cuts_and_is_recovered_from():
    simulation = simulate(Scenario(10_000_000, bursts=(Burst(OUTAGE, 0.2),)))
    assert row_at(simulation, 21).decision == "cut"
    assert row_at(simulation, 29).rate == 5
    assert row_at(simulation, 40).rate > 5
    assert simulation.rows[-1].created == 10_000_000


def test_few_faults_hold_the_rate():
    simulation = simulate(Scenario(10_000_000, bursts=(Burst(OUTAGE, 0.02),)))
    assert len({row_at(simulation, minute).rate for minute in range(21, 31)}) == 1
    assert row_at(simulation, 40).rate > row_at(simulation, 30).rate


def test_throttle_keeps_most_calls_from_a_service_that_is_away():
    away = simulate(Scenario(3_000_000, bursts=(Burst(OUTAGE, 1.0),)))
    assert row_at(away, 28).throttled_share > 0.9
    assert away.calls < 1.1 * 3_000_000


def test_target_that_cannot_follow_holds_the_rate():
    simulation = simulate(Scenario(10_000_000, target=Target(capacity=3000)))
    assert simulation.peak_create_rate < 1.5 * 3000
    assert "the target fails" in row_at(simulation, 30).reason
    assert simulation.finished_s >= 10_000_000 / 3000


def test_slow_target_is_limited_by_concurrency():
    slow = Target(latency_s=2.0)
    scenario = Scenario(3_000_000, queues=10, queue_concurrency=100, target=slow)
    assert simulate(scenario).finished_s >= 3_000_000 / (10 * 100 / 2.0)


def test_queues_with_too_low_a_rate_hold_the_creates_back():
    simulation = simulate(Scenario(10_000_000, queues=4))
    assert "behind" in row_at(simulation, 35).reason
    assert simulation.peak_create_rate < 2 * 4 * 500


def test_cold_queues_take_longer():
    warm = simulate(Scenario(1_000_000))
    cold = simulate(Scenario(1_000_000, dynamics=FAITHFUL))
    assert warm.finished_s < cold.finished_s < warm.finished_s + 5 * MINUTE


def test_controller_that_is_away_is_not_made_up_for():
    away = simulate(Scenario(3_000_000, missed=(Span(600, 4200),)))
    assert row_at(away, 70).created - row_at(away, 9).created < 6 * MINUTE * 1500
    assert row_at(away, 70).rate == 5


def test_single_missed_tick_changes_nothing():
    missed = simulate(Scenario(3_000_000, missed=(Span(430, 500),)))
    assert missed.created_s == simulate(Scenario(3_000_000)).created_s


def test_slow_creates_hold_the_rate_until_they_are_quick_again():
    slow = (Slowness(OUTAGE, 0.1, 2.0),)
    simulation = simulate(Scenario(10_000_000, slow=slow))
    held = row_at(simulation, 29)
    assert (held.decision, held.healthy) == ("hold", False)
    assert row_at(simulation, 45).rate > held.rate


def test_few_slow_creates_cost_concurrency_unless_they_are_hedged():
    slow = (Slowness(Span(0, 100_000), 0.01, 20.0),)
    plain = Scenario(1_000_000, slow=slow)
    hedged = Scenario(1_000_000, slow=slow, hedge_delay_s=1.0)
    assert simulate(hedged).created_s < simulate(plain).created_s


def test_simulation_ends_at_its_limit():
    simulation = simulate(Scenario(10**9, until_s=3600.0))
    assert (simulation.created_s, simulation.finished_s) == (None, None)
    assert simulation.rows[-1].t_s == 3600


def test_turns_are_where_something_changed():
    simulation = simulate(Scenario(1_000_000))
    assert [row.rate for row in simulation.turns()] == [5, 7.5, 11.25, 16.875]
    assert [row.decision for row in simulation.turns()] == ["start", "raise", "raise", "raise"]
    assert simulation.rows[-1].decision == "finish"


def test_result_is_json():
    simulation = simulate(Scenario(10_000))
    assert json.loads(simulation.to_json())["rows"][0]["rate"] == 5


@pytest.mark.parametrize(
    "wrong", [{"records": 0}, {"queues": 0}, {"queue_rate": -1}, {"tick_s": 0.5}]
)
def test_scenario_that_cannot_be_is_refused_by_name(wrong):
    with pytest.raises(Misused, match=next(iter(wrong))):
        Scenario(**({"records": 1} | wrong))


@pytest.mark.parametrize("make", [lambda: Span(5, 5), lambda: Burst(OUTAGE, 1.1)])
def test_trouble_that_cannot_be_is_refused(make):
    with pytest.raises(Misused):
        make()


def test_hedges_cut_the_slowest_fan_outs_and_are_among_the_calls():
    slow = (Slowness(Span(0, 100_000), 0.01, 2.0),)
    plain = simulate(Scenario(1_000_000, slow=slow))
    hedged = simulate(Scenario(1_000_000, slow=slow, hedge_delay_s=1.0))
    assert (plain.fan_out_p99_s, plain.hedges) == (2.0, 0)
    assert hedged.fan_out_p99_s == pytest.approx(1.05)
    assert hedged.hedges == pytest.approx(0.01 * 1_000_000, rel=0.01)
    assert hedged.calls == plain.calls + hedged.hedges


def test_hedges_are_one_call_in_ten_where_all_are_slow():
    simulation = simulate(Scenario(1_000_000, create_latency_s=2.0, hedge_delay_s=1.0))
    assert simulation.hedges == pytest.approx(100_000, rel=0.01)


@pytest.mark.parametrize("latency_s", [0.01, 2.0])
def test_latency_of_creates_shows_in_fan_outs_and_in_how_many_run_at_once(latency_s):
    usual = simulate(Scenario(1_000_000))
    other = simulate(Scenario(1_000_000, create_latency_s=latency_s))
    assert other.fan_out_p99_s == pytest.approx(usual.fan_out_p99_s * latency_s / 0.05)
    assert (other.concurrency > usual.concurrency) is (latency_s > 0.05)
