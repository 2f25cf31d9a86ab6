import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.pacing.histogram import BOUNDS_S, Histogram
from injector.pacing.signals import Signals, Tally

durations = st.lists(st.floats(0, 300))
shown = st.floats(0.001, 100)
events = st.lists(
    st.sampled_from(
        [
            "answered",
            "UNAVAILABLE",
            "INTERNAL",
            "rejected",
            "hedged",
            "won",
            "called",
            "fan_out",
            "sick q",
            "sick r",
        ]
    )
)


def tallied(happened: list[str]) -> Signals:
    tally = Tally()
    for event in happened:
        tell(tally, event)
    return tally.drain()


def tell(tally: Tally, event: str) -> None:
    match event:
        case "answered":
            tally.answered()
        case "rejected":
            tally.rejected()
        case "hedged":
            tally.hedged()
        case "won":
            tally.hedged(won=True)
        case "called":
            tally.called(0.02)
        case "fan_out":
            tally.fanned_out(1.5, deferred=True)
        case "sick q" | "sick r":
            tally.faulted("UNAVAILABLE")
            tally.sick(f"projects/example.com:p/queues/{event[-1]}", "UNAVAILABLE")
        case code:
            tally.faulted(code)


@given(durations, durations)
def test_adding_histograms_counts_all_durations_of_both(left, right):
    assert Histogram.of(left) + Histogram.of(right) == Histogram.of(left + right)


@given(st.lists(shown, min_size=1), st.sampled_from([0.5, 0.95, 0.99, 1.0]))
def test_quantile_is_within_a_bucket_of_the_true_one(sample, share):
    true = sorted(sample)[math.ceil(share * len(sample)) - 1]
    assert true / 1.2 <= Histogram.of(sample).quantile_s(share) <= true * 1.2


def test_empty_histogram_has_neither_mean_nor_quantile():
    assert (Histogram().mean_s, Histogram().quantile_s(0.95)) == (None, None)


def test_mean_is_that_of_the_durations_themselves():
    assert Histogram.of([0.1, 0.2, 0.6]).mean_s == pytest.approx(0.3)


def test_duration_beyond_the_last_bound_is_still_counted():
    assert Histogram.of([1e6]).quantile_s(0.5) == BOUNDS_S[-1]


def test_share_of_a_thousand_even_durations_is_read_off_to_the_hundredth():
    sample = Histogram.of(i / 1000 for i in range(1, 1001))
    assert sample.quantile_s(0.95) == pytest.approx(0.95, rel=0.02)


@given(events, events)
def test_signals_of_two_processes_add_up_to_those_of_one(left, right):
    assert tallied(left) + tallied(right) == tallied(left + right)


@given(events)
def test_signals_survive_the_ledger(happened):
    signals = tallied(happened)
    assert Signals.from_json(signals.to_json()) == signals
    assert Signals.from_counts(signals.to_counts()) == signals


def test_counts_are_plain_sums_that_a_database_can_add():
    counts = tallied(["answered", "answered", "UNAVAILABLE", "called"]).to_counts()
    assert counts == {
        "accepted": 2,
        "faults.UNAVAILABLE": 1,
        "latency.18": 1,
        "latency.us": 20_000,
    }


def test_names_of_a_newer_version_are_passed_over():
    newer = {"accepted": 1, "unheard_of": 7, "new.OK": 3, "latency.999": 1, "latency.max": 2}
    assert Signals.from_counts(newer) == Signals(accepted=1)


def test_drained_tally_starts_anew():
    tally = Tally()
    tally.answered(creates=100)
    tally.drain()
    assert tally.drain() == Signals()


def test_shares_tell_faults_of_what_was_sent_and_rejects_of_what_was_wanted():
    signals = Signals(accepted=90, faults={"UNAVAILABLE": 10}, local_rejects=100)
    assert (signals.fault_share, signals.throttled_share) == (0.1, 0.5)


def test_nothing_seen_has_no_faults():
    nothing = Signals()
    assert (nothing.fault_share, nothing.throttled_share, nothing.target_fault_share) == (0, 0, 0)


@pytest.mark.parametrize(
    ("code", "share"), [("RESOURCE_EXHAUSTED", 0.25), ("INTERNAL", 0.25), ("NOT_FOUND", 0)]
)
def test_target_is_at_fault_only_for_overload_and_server_errors(code, share):
    assert Signals(targets={"OK": 75, code: 25}).target_fault_share == share


QUEUE = "projects/example.com:p/locations/l/queues/q"


@given(events, events)
def test_signals_without_a_sick_queue_are_those_of_the_others(others, its_own):
    def end(tally: Tally, code: str) -> None:
        if code == "rejected":
            tally.rejected()
        elif code == "NOT_FOUND":
            tally.answered()
        else:
            tally.faulted(code)

    tally = Tally()
    for event in others:
        tell(tally, event)
    for event in its_own:
        code = {"answered": "NOT_FOUND", "rejected": "rejected"}.get(event, "UNAVAILABLE")
        end(tally, code)
        tally.sick(QUEUE, "THROTTLED" if code == "rejected" else code)
    left = tally.drain().without({QUEUE})
    alone = tallied(others)
    assert (left.accepted, left.faults, left.local_rejects) == (
        alone.accepted,
        alone.faults,
        alone.local_rejects,
    )
    assert left.without({"another"}) == left


def test_signals_are_written_as_one_json_object():
    assert json.loads(tallied(["rejected"]).to_json()) == {"local_rejects": 1}
