import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.dashboard.series import series
from injector.ledger.ports import Minute, RampDecision
from injector.pacing.histogram import Histogram
from injector.pacing.signals import Signals

NOW = 60_000.0


def minute(ago, **counts: object):
    return Minute(NOW - 60 * ago, Signals(**counts).to_counts())


def decided(ago, rate):
    return RampDecision(NOW - 60 * ago, "raise", rate, 10, "why")


def test_a_full_minute_counts_over_sixty_seconds():
    found = series([minute(2, accepted=600, faults={"UNAVAILABLE": 30})], [], now=NOW, window=60)
    assert found.at == [NOW - 120, NOW - 60]
    assert found.reached == [10, 0]
    assert found.faults == {"UNAVAILABLE": [0.5, 0]}


def test_the_minute_under_way_counts_over_the_seconds_it_has_had():
    found = series([minute(0, accepted=600)], [], now=NOW + 20, window=60)
    assert (found.at, found.reached) == ([NOW], [30])


def test_a_minute_just_begun_is_left_out():
    found = series([minute(1, accepted=600), minute(0, accepted=1)], [], now=NOW + 5, window=60)
    assert found.at == [NOW - 60]


def test_each_minute_has_the_rate_that_the_last_decision_by_its_end_allowed():
    decisions = [decided(1.5, 7.5), decided(2.5, 5.0)]
    found = series([minute(5, accepted=1)], decisions, now=NOW, window=60)
    assert found.allowed == [None, None, 500, 750, 750]


def test_latencies_that_nobody_measured_are_none_and_others_are_quantiles():
    seen = minute(2, latency=Histogram.of([0.1] * 9 + [2.0]))
    found = series([seen], [], now=NOW, window=60)
    assert found.p50_s[0] == pytest.approx(0.1, rel=0.2)
    assert found.p95_s[0] == pytest.approx(2.0, rel=0.2)
    assert (found.p50_s[1], found.p95_s[1]) == (None, None)


def test_nothing_seen_is_no_series_at_all():
    assert series([], [], now=NOW, window=60).at == []


@given(
    st.lists(st.integers(0, 400), max_size=50, unique=True),
    st.lists(st.integers(0, 400), max_size=20),
    st.integers(5, 180),
    st.floats(NOW, NOW + 59.9),
)
def test_no_series_is_longer_than_the_window_and_all_are_of_one_length(seen, steps, window, now):
    minutes = [minute(ago, accepted=1, faults={"UNKNOWN": 1}) for ago in sorted(seen)[::-1]]
    decisions = [decided(ago, 5.0) for ago in sorted(steps)]
    found = series(minutes, decisions, now=now, window=window)
    values = (found.reached, found.allowed, found.p50_s, found.p95_s, found.throttled)
    more = (found.hedges_sent, found.hedges_won, found.deferred, *found.faults.values())
    assert {len(each) for each in (*values, *more)} == {len(found.at)}
    assert len(found.at) <= window
    assert all(now - window * 60 - 70 <= at <= now for at in found.at)
