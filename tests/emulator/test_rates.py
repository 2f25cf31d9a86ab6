"""Rates: the token bucket, and the rate that a queue's tasks leave at."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.state.bucket import Bucket
from injector.emulator.state.dispatching import next_wake, take_due
from injector.emulator.state.dynamics import OFF
from injector.emulator.state.limits import Limits, RateLimits, burst_size
from injector.emulator.state.queue import Queue
from injector.emulator.state.task import Task

START = 1_800_000_000.0


def queue_of(count: int, *, rate: float, concurrent: int = 5000) -> Queue:
    queue = Queue("q", Limits(RateLimits(rate, concurrent)), OFF, now=START)
    for number in range(count):
        queue.add(Task(str(number), b"form", START, START))
    return queue


def leave(queue: Queue) -> list[float]:
    """Return when each task leaves if the queue is looked at when it asks for it."""
    times: list[float] = []
    now = START
    while now < float("inf"):
        times += [now for _ in take_due(queue, now=now)]
        now = max(now, next_wake(queue))
    return times


@settings(deadline=None)
@given(
    rate=st.floats(0.01, 40),
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=12),
)
def test_bucket_never_gives_more_than_its_size_and_what_it_gained(rate, gaps):
    bucket = Bucket(rate=rate, burst=burst_size(rate), now=START)
    now, taken = START, []
    for gap in gaps:
        now += gap
        while bucket.take(now=now):
            taken.append(now)
    for first, since in enumerate(taken):
        for count, until in enumerate(taken[first:], 1):
            assert count <= burst_size(rate) + (until - since) * rate + 1e-2


@settings(deadline=None)
@given(rate=st.floats(0.05, 500))
def test_token_that_was_waited_for_is_there(rate):
    bucket = Bucket(rate=rate, burst=1, now=START)
    assert bucket.take(now=START)
    assert bucket.take(now=bucket.next_at(now=START))


@pytest.mark.parametrize(("rate", "span"), [(0.1, 10.0), (0.8, 1.25), (7.5, 2 / 15), (100, 0.01)])
def test_tasks_leave_at_the_rate_once_the_burst_is_spent(rate, span):
    burst = burst_size(rate)
    times = leave(queue_of(burst + 20, rate=rate))
    assert times[:burst] == [START] * burst
    gaps = [
        after - before for before, after in zip(times[burst:], times[burst + 1 :], strict=False)
    ]
    assert gaps == pytest.approx([span] * 19, abs=1e-5)


def test_every_task_leaves_once():
    queue = queue_of(300, rate=50)
    assert len(leave(queue)) == 300


@settings(deadline=None)
@given(st.lists(st.sampled_from([0.1, 5, 7.5, 100]), min_size=1, max_size=6))
def test_changing_the_rate_gives_no_tokens_away(rates):
    queue = queue_of(1200, rate=rates[0])
    now, taken = START, 0
    allowed = float(burst_size(rates[0]))
    for rate in rates:
        queue.limits = Limits(RateLimits(rate, 5000))
        queue.retune(now=now)
        taken += len(take_due(queue, now=now, at_once=10_000))
        allowed += rate
        now += 1
    assert taken <= allowed + 1e-3


def test_look_at_a_blocked_queue_is_asked_for_when_its_token_comes():
    queue = queue_of(2, rate=0.5)
    assert len(take_due(queue, now=START)) == 1
    assert next_wake(queue) == START + 2


def test_retries_spend_tokens(direct):
    name = direct.queue(rate_limits={"max_dispatches_per_second": 1})
    for _ in range(2):
        direct.task(name)
    left = []
    for second in range(4):
        for started in direct.due():
            left.append(second)
            direct.end(started, 500)
        direct.advance(1)
    assert left == [0, 1, 2, 3]


def test_forced_dispatch_spends_no_token(direct):
    name = direct.queue(rate_limits={"max_dispatches_per_second": 0.1})
    task = direct.task(name, schedule_time={"seconds": int(direct.now) + 60})
    direct.client.run_task(name=task.name)
    direct.task(name)
    assert len(direct.due()) == 1


def test_one_queue_does_not_hold_up_another(direct):
    slow = direct.queue("slow", rate_limits={"max_dispatches_per_second": 0.1})
    quick = direct.queue("quick")
    for name in (slow, slow, slow, quick, quick, quick):
        direct.task(name)
    assert [queue.id for queue, _ in direct.due()].count("quick") == 3
