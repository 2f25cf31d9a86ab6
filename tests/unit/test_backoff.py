import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.pacing.backoff import Backoff, full_jitter

draws = st.floats(0, 1, exclude_max=True)


@given(st.integers(1, 10_000), draws)
def test_wait_is_spread_over_the_whole_doubled_span(failed, draw):
    most = min(5.0, 0.1 * 2 ** min(failed - 1, 60))
    assert full_jitter(failed, first_s=0.1, most_s=5.0, draw=draw) == draw * most


def test_fifty_clients_that_failed_together_do_not_come_back_together():
    waits = {round(Backoff().wait_s(3, left_s=10, draw=i / 50), 2) for i in range(50)}
    assert len(waits) > 35


@given(st.floats(0, 20), st.lists(draws, min_size=10, max_size=10))
def test_all_attempts_and_waits_stay_within_the_budget(budget, chances):
    backoff, spent, attempts = Backoff(attempts=8), 0.0, 1
    for draw in chances:
        wait = backoff.wait_s(attempts, left_s=budget - spent, draw=draw)
        if wait is None:
            break
        spent, attempts = spent + wait, attempts + 1
    assert spent <= budget
    assert attempts <= 8


def test_last_attempt_is_followed_by_none():
    assert Backoff(attempts=3).wait_s(3, left_s=100, draw=0) is None


def test_wait_that_the_service_asked_for_is_kept():
    assert Backoff().wait_s(1, left_s=10, draw=0.5, at_least_s=2.0) == pytest.approx(2.05)


@pytest.mark.parametrize(
    "wrong",
    [
        {"attempts": 0},
        {"attempts": float("nan")},
        {"attempts": 1e9},
        {"first_s": 0},
        {"first_s": 6},
        {"most_s": float("nan")},
    ],
)
def test_back_off_that_is_none_is_refused(wrong):
    with pytest.raises(Misused):
        Backoff(**wrong)
