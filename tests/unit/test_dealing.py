from hypothesis import given
from hypothesis import strategies as st

from injector.operations.dealing import LEAST_RATE, in_step, in_turn

RATES = st.dictionaries(st.text("abc", min_size=1), st.floats(0.1, 500), min_size=1, max_size=9)
TOTALS = st.floats(0.1, 5000)


@given(RATES, TOTALS)
def test_no_queue_gets_more_than_its_own_and_all_no_more_than_the_total(own, total):
    for dealt in (in_step(own, total=total), in_turn(own, total=total)):
        assert all(rate <= own[queue] for queue, rate in dealt.items())
        assert sum(dealt.values()) <= max(total, LEAST_RATE * len(own)) * 1.000001 + (
            LEAST_RATE * len(own)
        )


@given(RATES)
def test_whole_total_gives_each_queue_exactly_its_own(own):
    whole = sum(own.values())
    assert in_step(own, total=whole) == own
    assert in_step(own, total=whole + 1) == own


@given(RATES, TOTALS, TOTALS)
def test_opened_queues_stay_open_when_the_total_falls(own, total, less):
    opened = list(in_turn(own, total=total))
    dealt = in_turn(own, total=min(less, total), opened=opened)
    assert set(opened) <= set(dealt)
    assert all(rate > 0 for rate in dealt.values())


@given(RATES, TOTALS)
def test_in_turn_only_the_last_queue_has_less_than_its_own(own, total):
    dealt = in_turn(own, total=total)
    lowered = [queue for queue, rate in dealt.items() if rate < own[queue]]
    assert len(lowered) <= 1
    assert lowered in ([], [list(dealt)[-1]])
