import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.pacing.signals import NOT_ACCEPTED
from injector.pacing.throttle import (
    GroupThrottle,
    Throttle,
    ThrottleSettings,
    reject_probability,
)

HALF_MINUTE = ThrottleSettings(window_s=30)
ALWAYS, NEVER = 0.999999, 0.0  # draws that pass every floor, or none


def offer(throttle, capacity, *, start, until, rate=100, seed=1):
    """Offer `rate` calls/s to a backend that takes `capacity` of them; return (sent, rejected)."""
    chance, sent, rejected = random.Random(seed), 0, 0
    taken_in: dict[int, int] = {}
    for i in range(int((until - start) * rate)):
        now = start + i / rate
        if not throttle.admit(now=now, draw=chance.random()):
            rejected += 1
            continue
        sent += 1
        taken_in[int(now)] = taken_in.get(int(now), 0) + 1
        if taken_in[int(now)] <= capacity:
            throttle.answered(now=now)
        else:
            throttle.faulted(now=now)
    return sent, rejected


@pytest.mark.parametrize(
    ("requests", "accepts", "k", "chance"),
    [
        (0, 0, 2, 0),
        (100, 100, 2, 0),
        (100, 50, 2, 0),
        (100, 25, 2, 50 / 101),
        (100, 0, 2, 100 / 101),
        (100, 50, 1.1, 45 / 101),
        (10**9, 0, 2, 1),
    ],
)
def test_formula_is_that_of_the_sre_book(requests, accepts, k, chance):
    assert reject_probability(requests, accepts, k) == pytest.approx(chance)


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.floats(1, 100))
def test_formula_gives_a_chance(requests, accepts, k):
    assert 0 <= reject_probability(requests, min(accepts, requests), k) < 1


@given(
    st.lists(st.sampled_from(["answer", "fault", "call"]), max_size=200),
    st.floats(0, 1000),
    st.floats(1, 10),
)
def test_share_follows_the_formula_with_local_rejects_as_requests(happened, start, k):
    throttle, answers, requests = Throttle(ThrottleSettings(k=k, least=1)), 0, 0
    for event in happened:
        if event == "answer":
            throttle.answered(now=start)
        elif event == "fault":
            throttle.faulted(now=start)
        elif throttle.admit(now=start, draw=NEVER):
            continue
        answers += event == "answer"
        requests += 1
    formula = max(0.0, (requests - k * answers) / (requests + 1))
    assert throttle.rejected_share(now=start) == pytest.approx(min(formula, 0.95))


@pytest.mark.parametrize("k", [1.1, 2.0, 4.0])
@pytest.mark.parametrize("capacity", [5, 10, 20])
def test_throttle_converges_to_k_calls_for_each_that_is_accepted(k, capacity):
    throttle = Throttle(ThrottleSettings(window_s=30, k=k))
    offer(throttle, capacity, start=0, until=120)
    sent, _ = offer(throttle, capacity, start=120, until=420, seed=2)
    assert sent / 300 == pytest.approx(max(k * capacity, 5), rel=0.1)


@pytest.mark.parametrize("k", [1.1, 2.0])
@pytest.mark.parametrize("outage_s", [1, 30, 120, 3600])
def test_full_rate_returns_within_a_window_after_an_outage_of_any_length(outage_s, k):
    throttle = Throttle(ThrottleSettings(window_s=30, k=k))
    offer(throttle, 100, start=0, until=60)
    offer(throttle, 0, start=60, until=60 + outage_s)
    back = 60 + outage_s
    offer(throttle, 100, start=back, until=back + 30, seed=3)
    _, rejected = offer(throttle, 100, start=back + 30, until=back + 40, seed=4)
    assert rejected == 0


def test_a_service_that_fails_half_of_its_calls_for_ten_minutes_gets_a_third_of_what_retry_sends():
    throttle, chance, sent = Throttle(), random.Random(1), 0
    for i in range(20 * 720):
        now = i / 20
        if throttle.admit(now=now, draw=chance.random()):
            sick = now >= 120
            sent += sick
            failed = sick and chance.random() < 0.5
            (throttle.faulted if failed else throttle.answered)(now=now)
    assert sent <= 20 * 600 * 2 / 3


def test_outage_is_noticed_long_before_the_window_is_over():
    throttle = Throttle(HALF_MINUTE)
    offer(throttle, 100, start=0, until=300)
    offer(throttle, 0, start=300, until=320)
    assert throttle.rejected_share(now=320) > 0.3


@given(st.floats(0.001, 1), st.integers(0, 10_000))
def test_floor_of_traffic_always_passes(floor, faults):
    throttle = Throttle(ThrottleSettings(floor=floor))
    throttle.faulted(now=0, calls=faults)
    assert throttle.rejected_share(now=0) <= 1 - floor


def test_counts_expire_by_time_alone():
    throttle = Throttle(HALF_MINUTE)
    throttle.faulted(now=0, calls=1000)
    assert throttle.rejected_share(now=26) == 0.95
    assert throttle.rejected_share(now=30) == 0


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 100)), max_size=100), st.integers(1, 1000))
def test_throttle_has_no_verdict_below_the_least_calls_and_the_formulas_from_there(ends, least):
    throttle, calls, answers = Throttle(ThrottleSettings(least=least)), 0, 0
    for answered, size in ends:
        tell = throttle.answered if answered else throttle.faulted
        tell(now=0, calls=size)
        calls, answers = calls + size, answers + size * answered
        formula = min(0.95, reject_probability(calls, answers, 1.5))
        expected = formula if calls >= least else 0.0
        assert throttle.rejected_share(now=0) == pytest.approx(expected)


def test_new_process_whose_first_batch_fails_goes_on_at_full_rate():
    throttle = GroupThrottle()
    throttle.faulted("a", now=0, calls=100)
    assert throttle.rejected_share("a", now=0) == throttle.rejected_share("b", now=0) == 0


def test_calls_in_flight_are_no_evidence():
    throttle = Throttle()
    assert all(throttle.admit(now=0, draw=NEVER) for _ in range(1000))


@given(st.lists(st.floats(-3600, 3600), min_size=1, max_size=50))
def test_clock_steps_back_never_open_or_jam_the_throttle(steps):
    throttle, now = Throttle(HALF_MINUTE), 1000.0
    for step in steps:
        now += min(step, 0)
        throttle.faulted(now=now, calls=200)
    assert throttle.rejected_share(now=now) == 0.95
    assert throttle.rejected_share(now=now + 33) == 0


def test_recovery_begun_is_given_up_at_the_first_unhealthy_moment():
    throttle = Throttle(HALF_MINUTE)
    throttle.faulted(now=0, calls=10_000)
    for second in range(3, 12):
        throttle.answered(now=second, calls=10)
    assert throttle.rejected_share(now=12) < 0.9
    throttle.faulted(now=12, calls=20)
    assert throttle.rejected_share(now=12) == 0.95


def test_sick_queue_leaves_the_others_their_rate():
    throttle, chance = GroupThrottle(HALF_MINUTE), random.Random(1)
    sent: dict[str, int] = dict.fromkeys("0123456789", 0)
    for i in range(60_000):
        queue = str(i % 10)
        if throttle.admit(queue, now=i / 1000, draw=chance.random()):
            sent[queue] += 1
            tell = throttle.faulted if queue == "0" else throttle.answered
            tell(queue, now=i / 1000)
    assert min(sent[queue] for queue in "123456789") > 0.95 * 6000
    assert sent["0"] < 0.1 * 6000


def test_queue_has_its_rate_back_within_a_window_though_nine_in_ten_are_sick():
    throttle, chance, sent = GroupThrottle(HALF_MINUTE), random.Random(1), 0
    for i in range(60_000):
        queue = str(i % 10)
        if throttle.admit(queue, now=i / 1000, draw=chance.random()):
            sent += queue == "9" and i >= 30_000
            tell = throttle.answered if queue == "9" else throttle.faulted
            tell(queue, now=i / 1000)
    assert sent > 0.95 * 3000


def offer_slowly(rate, *, queues, sick):
    """Offer `rate` calls/s to each queue, of which some are sick for ten minutes in thirty.

    Return what share is sent to sick queues and to the others, in ten minutes each.
    """
    throttle, chance, turns = GroupThrottle(), random.Random(1), range(int(600 * rate * queues))
    sent = [[0, 0] for _ in range(3)]
    for part, turn in itertools.product(range(3), turns):
        now, queue = 600 * part + turn / (rate * queues), turn % queues
        if throttle.admit(str(queue), now=now, draw=chance.random()):
            sent[part][queue < sick] += 1
            tell = throttle.faulted if part == 1 and queue < sick else throttle.answered
            tell(str(queue), now=now)
    offered = [600 * rate * (queues - sick), 600 * rate * sick]
    return [[n / most if most else 1 for n, most in zip(s, offered, strict=True)] for s in sent]


@pytest.mark.parametrize(("queues", "sick"), [(1, 1), (2, 2), (10, 1), (10, 5), (10, 9), (40, 40)])
@pytest.mark.parametrize("rate", [0.5, 1.0, 1.6])
def test_sick_queue_is_throttled_however_few_calls_it_gets(rate, queues, sick):
    """Below 1.7 calls a second, a queue never has the least 200 of them in a window of 120 s."""
    before, during, after = offer_slowly(rate, queues=queues, sick=sick)
    assert before == pytest.approx([1, 1], abs=0.01)
    assert during[1] < 0.5
    assert after[1] > 0.7


@pytest.mark.parametrize("rate", [0.5, 1.0, 1.6])
def test_sick_queues_leave_the_others_their_few_calls(rate):
    _, during, after = offer_slowly(rate, queues=10, sick=5)
    assert during[0] > 0.95
    assert after[0] > 0.99


def test_batch_that_failed_on_a_queue_that_is_seldom_used_is_no_verdict():
    throttle = Throttle()
    for minute in range(0, 60, 5):
        throttle.faulted(now=60 * minute, calls=100)
        assert throttle.open(now=60 * minute + 119)


def test_group_is_throttled_as_a_whole_when_new_queues_keep_failing():
    throttle = GroupThrottle()
    for i in range(1000):
        throttle.faulted(f"queue-{i}", now=0)
    assert not throttle.admit("fresh", now=0, draw=0.5)
    assert throttle.rejected_share("fresh", now=0) == 0.95


@pytest.mark.parametrize("answer", ["OK", "ALREADY_EXISTS", "INVALID_ARGUMENT", "NOT_FOUND"])
def test_refusal_for_good_is_an_answer(answer):
    assert answer not in NOT_ACCEPTED


@pytest.mark.parametrize(
    "wrong",
    [
        {"window_s": 0},
        {"window_s": math.nan},
        {"k": 0.9},
        {"k": math.inf},
        {"floor": 0},
        {"least": 0},
    ],
)
def test_settings_out_of_range_are_refused_by_name(wrong):
    with pytest.raises(Misused, match=next(iter(wrong))):
        ThrottleSettings(**wrong)
