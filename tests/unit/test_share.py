from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.control.share import Claim, deal, parts

MANY = 1_000_000
weights = st.lists(st.floats(0.1, 10), min_size=1, max_size=6)


def claims_of(weights):
    return [Claim(f"job-{i}", MANY, weight) for i, weight in enumerate(weights)]


@given(weights, st.integers(0, 10**9), st.integers(1, 3000))
def test_any_run_of_slots_is_shared_by_weight(weights, first, slots):
    dealt = Counter(deal(claims_of(weights), first=first, slots=slots))
    for claim in claims_of(weights):
        fair = slots * claim.weight / sum(weights)
        assert abs(dealt[claim.job] - fair) <= 4 + slots * 0.005


def test_single_slots_dealt_one_by_one_are_shared_like_a_long_run():
    claims = [Claim("three", MANY, 3), Claim("one", MANY, 1)]
    dealt = Counter(deal(claims, first=number, slots=1)[0] for number in range(400))
    assert dealt["three"] == pytest.approx(300, abs=4)


def test_a_higher_priority_takes_all_until_it_has_enough():
    claims = [Claim("late", MANY), Claim("urgent", 3, priority=1)]
    assert deal(claims, first=7, slots=5) == ["urgent"] * 3 + ["late"] * 2


@given(weights, st.integers(0, 50), st.integers(0, 100))
def test_no_job_gets_more_than_it_has_left(weights, left, slots):
    claims = [Claim(f"job-{i}", left, weight) for i, weight in enumerate(weights)]
    dealt = Counter(deal(claims, first=0, slots=slots))
    assert all(dealt[claim.job] <= left for claim in claims)
    assert dealt[""] == max(0, slots - left * len(claims))


def test_what_a_cap_keeps_from_one_job_goes_to_the_others():
    claims = [Claim("capped", MANY, 3, cap=0.1), Claim("free", MANY, 1), Claim("too", MANY, 2)]
    assert parts(claims) == pytest.approx({"capped": 0.1, "free": 0.3, "too": 0.6})


def test_slots_that_every_job_is_capped_out_of_stay_empty():
    dealt = Counter(deal([Claim("slow", MANY, cap=0.25)], first=0, slots=400))
    assert dealt["slow"] == pytest.approx(100, abs=4)
    assert dealt[""] == pytest.approx(300, abs=4)


def test_a_lower_priority_uses_what_the_cap_of_a_higher_one_leaves():
    claims = [Claim("urgent", MANY, priority=5, cap=0.5), Claim("late", MANY)]
    assert parts(claims) == pytest.approx({"urgent": 0.5, "late": 0.5})


@given(weights)
def test_parts_never_exceed_the_whole(weights):
    assert sum(parts(claims_of(weights)).values()) <= 1 + 1e-9
