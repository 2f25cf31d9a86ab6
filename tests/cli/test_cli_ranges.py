"""Ranges of numbers, as options take them."""

import math

import click
import pytest

from injector.cli.ranges import FiniteRange, WholeRange


@pytest.mark.parametrize(
    ("bounds", "fitting", "others", "said"),
    [
        ({}, (-5, 0, 5), (math.nan, math.inf), "give a number"),
        ({"max": 10}, (-5, 10), (11,), "give a number up to 10"),
        ({"max": 10, "max_open": True}, (-5, 9), (10,), "give a number below 10"),
        ({"min": -2}, (-2, 99), (-3,), "give a number of -2 or more"),
        ({"min": 0, "min_open": True}, (1,), (0,), "give a number above 0"),
        ({"min": 0, "max": 1}, (0, 1), (-1, 2), "give a number from 0 to 1"),
        ({"min": 0, "max": 9, "min_open": True}, (1, 9), (0,), "give a number above 0, up to 9"),
        ({"min": 0, "max": 9, "max_open": True}, (0,), (9,), "give a number of 0 or more, below 9"),
        ({"min": 1234567}, (1234567,), (1234566,), "give a number of 1234567 or more"),
    ],
)
def test_a_range_takes_what_is_in_it_and_says_what_would_be(bounds, fitting, others, said):
    kind = FiniteRange(**bounds)
    assert [kind.convert(number, None, None) for number in fitting] == list(fitting)
    for number in others:
        with pytest.raises(click.BadParameter) as refused:
            kind.convert(number, None, None)
        assert refused.value.message == f"{number!r} will not do; {said}"


def test_a_whole_range_without_a_least_number_takes_those_below_zero():
    assert WholeRange(max=3).convert("-7", None, None) == -7
    with pytest.raises(click.BadParameter, match=r"give a whole number up to 3$"):
        WholeRange(max=3).convert("4", None, None)
