import itertools
import json
import math
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.control.decision import Decision, Kind, Observation, RampState, Thresholds, decide
from injector.control.ramp_state import evidence_from
from injector.errors import Misused
from injector.pacing.histogram import Histogram
from injector.pacing.ramp import Ramp
from injector.pacing.signals import Signals

T0 = 1_800_000_000.0  # a whole minute
MINUTE, STEP = 60.0, 300.0
RAMP = Ramp()


def seen(
    rate: float = 5.0, *, span_s: float = 240.0, fan_out_s: float = 0.2, **more: object
) -> Observation:
    """A healthy group at that rate."""
    fan_outs = int(rate * (span_s - fan_out_s))
    signals = Signals(
        accepted=100 * fan_outs,
        fan_outs=fan_outs,
        latency=Histogram.of([0.05] * 200),
        fan_out_time=Histogram.of([fan_out_s] * 20),
    )
    signals = replace(signals, **more.pop("signals", {}))
    seen_of = {"active_at": T0 + STEP, "found_rate": None} | more
    return Observation(signals, span_s, **seen_of)


def due(rate: float = 5.0, **more: object) -> RampState:
    """A ramp whose next step is due at T0 + 300."""
    state = RampState(
        rate=rate,
        concurrency=20,
        reached=rate,
        elapsed_s=STEP - MINUTE,
        changed_at=T0,
        ticked_at=T0 + STEP - MINUTE,
        active_at=T0 + STEP,
    )
    return replace(state, **more)


def at_due(state: RampState, observed: Observation, *, ramp: Ramp = RAMP) -> Decision:
    return decide(state, observed, T0 + STEP, ramp=ramp)


@dataclass
class World:
    """A group whose work is done at the allowed rate, or as much of it as is asked for."""

    ramp: Ramp = RAMP
    state: RampState = field(default_factory=RampState)
    now: float = T0
    offset: float = 0.0  # how far the wall clock is ahead of the true time
    done: list[tuple[float, float, float]] = field(default_factory=list)  # from, to, rate
    decisions: list[tuple[float, Decision]] = field(default_factory=list)
    written: float | None = None

    def tick(self, after_s: float, *, demand: float = math.inf, **observed: object) -> Decision:
        """Let time pass, in which the work was done, and decide."""
        if self.state.rate:
            rate = min(self.written or math.inf, self.state.rate, demand)
            self.done.append((self.now, self.now + after_s, rate))
        self.now += after_s
        decision = decide(self.state, self._seen(observed), self.now + self.offset, ramp=self.ramp)
        self.state = decision.state
        self.written = decision.rate if decision.apply else self.written
        self.decisions.append((self.now, decision))
        return decision

    def reached(self, since: float, until: float) -> float:
        """Return the highest rate really done within the span."""
        return max((rate for a, b, rate in self.done if b > since and a < until), default=0.0)

    def _seen(self, observed: dict) -> Observation:
        wall = self.now + self.offset
        since = evidence_from(self.state, now=wall, interval_s=self.ramp.interval_s)
        fan_outs = sum(
            rate * max(0.0, min(b, self.now) - max(a, since - self.offset))
            for a, b, rate in self.done
        )
        active = [b for _, b, rate in self.done if rate > 0]
        return Observation(
            Signals(accepted=int(100 * fan_outs), fan_outs=int(fan_outs)),
            max(0.0, wall - since),
            active_at=max(active) + self.offset if active else None,
            found_rate=self.written,
            **observed,
        )


def raises(world: World) -> list[float]:
    return [at for at, decision in world.decisions if decision.kind is Kind.RAISE]


# The curve


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


# Never too fast


pauses = st.lists(st.floats(0, 2000), min_size=5, max_size=60)
demands = st.floats(0, 600)


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
@given(pauses, st.lists(st.sampled_from([0.0, -3600.0, 3600.0]), min_size=60, max_size=60))
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
    assert "no tick for 3600 s" in away.notices[0]


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


# Warnings and cuts


FAULTS = {"UNAVAILABLE": 1}
WARNINGS = {
    "1 % faults": {"signals": {"accepted": 990, "faults": {"UNAVAILABLE": 10}}},
    "slow creates": {"signals": {"latency": Histogram.of([0.5] * 200)}},
    "target errors": {"signals": {"targets": {"OK": 950, "RESOURCE_EXHAUSTED": 50}}},
    "backlog": {"backlog_s": 181.0},
}
CUTS = {
    "5 % faults": {"signals": {"accepted": 950, "faults": {"UNAVAILABLE": 50}}},
    "10 % throttled": {"signals": {"accepted": 900, "local_rejects": 100}},
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


# Idle, cold, paused


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


@pytest.mark.parametrize(("idle_s", "kind"), [(140, Kind.HOLD), (160, Kind.START)])
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


# Concurrency and shares


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
