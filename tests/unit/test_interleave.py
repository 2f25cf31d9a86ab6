"""Queue names as expressions, and names that sort evenly between others."""

import math
import re
from bisect import bisect
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.groups import expand
from injector.interleave import bound_problems, interleave, is_even
from injector.queue_names import compact

PARENT = "projects/p/locations/us-central1/queues/"
QUEUE_IDS = st.from_regex(r"[a-z]{1,3}-?[0-9]{0,4}[a-z]?(-[0-9]{1,2})?", fullmatch=True)


def queues(expression):
    return expand(PARENT + expression)


def written(names):
    return compact(names).removeprefix(PARENT)


@given(st.lists(QUEUE_IDS, min_size=1, max_size=30, unique=True))
def test_an_expression_of_names_expands_to_them_in_their_order(names):
    full = tuple(PARENT + name for name in names)
    assert expand(compact(full)) == full


@pytest.mark.parametrize(
    "expression",
    ["q-[0000-0199]", "q-[0-199],q-[0-198:2]a", "q-[8-11]", "q-[0998-1002]", "a,b,q-7"],
)
def test_an_expression_is_as_short_as_a_person_would_write_it(expression):
    assert written(queues(expression)) == expression


def test_two_hundred_queues_get_the_hundred_names_of_the_guide():
    new = interleave(queues("q[0000-0199]"))
    assert written(new) == "q[0000-0198:2]a"


def test_further_rounds_fill_the_odd_numbers_and_then_take_the_next_letter():
    names = list(queues("q-[0000-0199]"))
    rounds = []
    for _ in range(4):
        new = interleave(names)
        rounds.append(written(new))
        names += new
    assert rounds == ["q-[0000-0198:2]a", "q-[0001-0199:2]a", "q-[0000-0199]b", "q-[0000-0199]c"]


@given(
    first=st.integers(0, 300),
    count=st.integers(2, 300),
    width=st.integers(4, 6),
    rounds=st.integers(1, 5),
)
def test_each_round_is_at_most_half_and_evenly_between(first, count, width, rounds):
    names = list(queues(f"q-[{first:0{width}}-{first + count - 1:0{width}}]"))
    for _ in range(rounds):
        new = interleave(names)
        ordered = sorted(names)
        places = [bisect(ordered, name) for name in sorted(new)]
        assert 0 < len(new) <= len(names) / 2
        assert not set(new) & set(names)
        assert places[0] > 0
        gaps = [later - earlier for earlier, later in pairwise(places)]
        assert all(1 <= gap <= 2 * math.ceil(len(names) / len(new)) for gap in gaps)
        names += new


@pytest.mark.parametrize("new", ["q-[0200-0299]", "q-[0000-0099]a", "p-[0000-0099]"])
def test_names_in_one_place_are_not_even(new):
    assert not is_even(queues("q-[0000-0199]"), queues(new))


def test_names_without_leading_zeros_are_even_where_they_happen_to_be():
    assert is_even(queues("q-[0-199]"), queues("q-[0-198:2]a"))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("q-0001", "no room"),
        ("welcome,other", "does not end in a number"),
        ("q-[1-40]", "leading zeros"),
        (
            "q-[0000-0001]," + ",".join(f"q-[0000-0001]{c}" for c in "abcdefghijklmnopqrstuvwxyz"),
            "26",
        ),
        ("x" * 98 + "-[0-1]", "100 characters"),
    ],
)
def test_names_that_leave_no_room_are_refused(expression, words):
    with pytest.raises(Misused, match=words):
        interleave(queues(expression))


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"new": 101}, "101 new queues are 50% of the 200 there are; at most 50 % .*: 100"),
        ({"creates_per_s": 150_000.0}, "150,000 tasks/s are 500/s for each of 300 queues"),
        ({"since_last_s": 299.5}, "300 s ago; again in 1 s"),
    ],
)
def test_an_expansion_beyond_a_bound_is_refused_with_its_figures(bounds, words):
    right = {"queues": 200, "new": 100, "creates_per_s": 149_999.0, "since_last_s": 300.0}
    assert list(bound_problems(**right)) == []
    (problem,) = bound_problems(**(right | bounds))
    assert re.search(words, problem)
