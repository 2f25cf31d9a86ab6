import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.pacing.sickness import IN_A_ROW, Sickness
from injector.pacing.throttle import GroupThrottle

CALLS = st.lists(
    st.tuples(st.integers(0, 6), st.booleans(), st.booleans(), st.integers(1, 30)), max_size=200
)


def told(calls):
    """Tell of (queue, whether it answered, whether its throttle rejects, how many calls)."""
    sickness, rows = Sickness(), {}
    for queue, answered, held, number in calls:
        if answered:
            sickness.answered(str(queue), held=held)
        else:
            sickness.refused(str(queue), calls=number, held=held)
        rows[str(queue)] = 0 if answered else rows.get(str(queue), 0) + number
    return sickness, rows


@given(CALLS)
def test_fewer_than_half_of_the_queues_are_ever_called_sick(calls):
    sickness, rows = told(calls)
    assert 2 * sum(map(sickness.sick, rows)) < max(1, len(rows))


@given(CALLS)
def test_queue_that_answered_last_and_is_not_held_back_is_well(calls):
    sickness, rows = told(calls)
    for queue in rows:
        sickness.answered(queue, held=False)
        assert not sickness.sick(queue)
        assert sickness.well(queue)


@given(CALLS)
def test_queue_that_refuses_all_is_sick_once_all_the_others_answer(calls):
    sickness, rows = told(calls)
    for queue in rows:
        sickness.answered(queue, held=False)
    for well in ("well", "as well"):
        sickness.answered(well, held=False)
    sickness.refused("sick", calls=IN_A_ROW - 1)
    assert not sickness.sick("sick")
    sickness.refused("sick")
    assert sickness.sick("sick")
    assert not sickness.sick("never called")


@pytest.mark.parametrize("tell", ["faulted", "refused for good"])
def test_group_throttle_knows_a_queue_that_takes_nothing_long_before_it_rejects(tell):
    throttle = GroupThrottle()
    for number in range(5000):
        throttle.answered(str(number % 10), now=number / 50)
    for _ in range(IN_A_ROW):
        if tell == "faulted":
            throttle.faulted("3", now=100.0)
        else:
            throttle.answered("3", now=100.0, refused=1)
    assert throttle.sick("3")
    assert not throttle.sick("4")
    assert throttle.rejected_share("3", now=100.0) == 0
    throttle.answered("3", now=100.0)
    assert not throttle.sick("3")


def test_queue_that_its_throttle_rejects_is_sick_until_it_does_no_more():
    throttle, chance = GroupThrottle(), random.Random(1)
    for number in range(20_000):
        queue, now = str(number % 10), number / 100
        failed = queue == "3" and chance.random() < 0.6
        (throttle.faulted if failed else throttle.answered)(queue, now=now)
    throttle.answered("3", now=200.0)
    assert throttle.sick("3")
    for number in range(2000):
        throttle.answered(str(number % 10), now=200 + number / 10)
    assert not throttle.sick("3")


def test_outage_of_the_whole_group_makes_no_queue_sick():
    throttle = GroupThrottle()
    for number in range(1000):
        throttle.faulted(str(number % 10), now=number / 100)
    assert not any(throttle.sick(str(queue)) for queue in range(10))
