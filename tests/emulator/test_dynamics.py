"""Dynamics: cold starts, congestion, and overload of creates."""

from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.state.dispatching import force, is_congestion, next_wake, settle, take_due
from injector.emulator.state.dynamics import FAITHFUL, GENTLE, OFF, Dynamics, Pace
from injector.emulator.state.limits import Limits, RateLimits
from injector.emulator.state.overload import Load, Overload, strain
from injector.emulator.state.queue import Queue
from injector.emulator.state.task import Outcome, Task

START = 1_800_000_000.0
SECOND = Dynamics(cold_rate=1.0, growth=2.0, interval_s=1.0, idle_s=60.0, cut=0.5)


def dispatched_in(queue: Queue, until: float, *, now: float, status: int = 200) -> int:
    """Let the queue run, every attempt ending at once; return how many left."""
    count = 0
    while now < until:
        for attempt in take_due(queue, now=now):
            count += 1
            if settle(queue, attempt, Outcome(status), now=now):
                queue.remove(attempt.task, reserved_until=now)
        now = max(now + 1e-3, next_wake(queue))
    return count


def full_queue(dynamics: Dynamics, count: int = 20_000, rate: float = 500) -> Queue:
    queue = Queue("q", Limits(RateLimits(rate, 5000)), dynamics, now=START)
    for number in range(count):
        queue.add(Task(str(number), b"form", START, START))
    return queue


def test_without_dynamics_a_new_queue_bursts():
    assert dispatched_in(full_queue(OFF), START + 0.01, now=START) >= 500


def test_cold_queue_starts_slowly_and_climbs_while_tasks_wait():
    queue = full_queue(SECOND)
    seconds = [dispatched_in(queue, START + n + 1, now=START + n) for n in range(12)]
    assert seconds[0] <= 2
    assert seconds == sorted(seconds)
    assert seconds[-1] == pytest.approx(500, rel=0.02)


def test_faithful_queue_needs_minutes_to_warm_up():
    queue = full_queue(FAITHFUL, count=60_000)
    assert dispatched_in(queue, START + 10, now=START) <= 12
    dispatched_in(queue, START + 170, now=START + 10)
    assert queue.pace.rate(500) == 500


def test_queue_whose_tasks_do_not_wait_stays_cold():
    queue = full_queue(SECOND, count=0)
    for number in range(20):
        queue.add(Task(str(number), b"form", START + number * 2, START))
    dispatched_in(queue, START + 50, now=START)
    assert queue.pace.rate(500) < 4


def test_idle_queue_grows_cold():
    queue = full_queue(SECOND, count=4000)
    dispatched_in(queue, START + 30, now=START)
    assert queue.pace.rate(500) == 500
    take_due(queue, now=START + 100)
    assert queue.pace.rate(500) == 1


def test_resumed_queue_is_cold(emulate):
    emulator = emulate(dynamics=SECOND)
    name = emulator.queue()
    pace = emulator.parts.service.registry.queues[name].pace
    for number in range(12):
        pace.starved()
        pace.evaluate(500, now=emulator.now + number + 1)
    assert pace.rate(500) == 500
    emulator.client.resume_queue(name=name)
    assert pace.rate(500) == 500
    emulator.client.pause_queue(name=name)
    emulator.client.resume_queue(name=name)
    assert pace.rate(500) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_congestion_slows_the_whole_queue_down_and_it_recovers(status):
    queue = full_queue(SECOND)
    dispatched_in(queue, START + 12, now=START)
    warm = dispatched_in(queue, START + 13, now=START + 12)
    congested = dispatched_in(queue, START + 18, now=START + 13, status=status) / 5
    recovered = [dispatched_in(queue, START + n + 1, now=START + n) for n in range(18, 30)]
    assert congested < warm / 2
    assert recovered[-1] == pytest.approx(500, rel=0.02)


@pytest.mark.parametrize(
    ("status", "share", "rate"), [(503, 0.01, 250), (500, 0.5, 250), (500, 0.01, 500)]
)
def test_one_503_halves_the_rate_and_500s_only_as_some_in_a_hundred(status, share, rate):
    queue = full_queue(SECOND)
    dispatched_in(queue, START + 12, now=START)
    for number in range(100):
        attempt = force(queue, queue.first_due(), now=START + 12)
        failed = number >= 100 * (1 - share)
        settle(queue, attempt, Outcome(status if failed else 200), now=START + 12)
    assert queue.pace.rate(500) == rate


def test_queue_is_cold_again_where_most_answers_are_congestion():
    queue = full_queue(SECOND)
    dispatched_in(queue, START + 12, now=START)
    dispatched_in(queue, START + 14.5, now=START + 12, status=500)
    assert queue.pace.rate(500) == SECOND.cold_rate


@pytest.mark.parametrize("status", [404, 500])
def test_rate_does_not_climb_while_the_target_answers_no_2xx(status):
    queue = full_queue(FAITHFUL)
    dispatched_in(queue, START + 60, now=START, status=status)
    assert queue.pace.rate(500) == FAITHFUL.cold_rate


@pytest.mark.parametrize(
    ("end", "http", "app_engine"),
    [
        (Outcome(429), True, False),
        (Outcome(500), True, False),
        (Outcome(503), True, True),
        (Outcome(None, timed_out=True), True, False),
        (Outcome(None), False, False),
        (Outcome(404), False, False),
        (Outcome(200), False, False),
    ],
)
def test_congestion_is_429_and_5xx_and_for_app_engine_503(end, http, app_engine):
    assert is_congestion(end, to_app_engine=False) == http
    assert is_congestion(end, to_app_engine=True) == app_engine


def test_errors_that_ask_for_nothing_slow_down_only_when_they_are_many():
    few, many = full_queue(GENTLE), full_queue(GENTLE)
    for queue in (few, many):
        dispatched_in(queue, START + 6, now=START)
    for number in range(1500):
        for queue, failed in ((few, number % 10 == 0), (many, True)):
            queue.pace.responded(500, congested=False, failed=failed, now=START + 6)
    assert (few.pace.rate(500), many.pace.rate(500)) == (500, 250)


def test_congestion_takes_a_cold_queue_below_its_cold_rate():
    served, congested = full_queue(GENTLE), full_queue(GENTLE)
    dispatched_in(served, START + 3, now=START)
    dispatched_in(congested, START + 3, now=START, status=429)
    assert congested.pace.rate(500) < GENTLE.cold_rate <= served.pace.rate(500)
    assert congested.pace.rate(500) >= GENTLE.least_rate


def test_task_waits_longer_while_most_attempts_fail():
    pace = Pace(GENTLE, now=START)
    for _ in range(GENTLE.least_samples):
        assert pace.backoff_factor(asked=False) == 1
        pace.responded(500, congested=False, failed=True, now=START)
    assert pace.backoff_factor(asked=False) == GENTLE.task_backoff
    pace.evaluate(500, now=START + 1)
    assert pace.backoff_factor(asked=False) == 1


@pytest.mark.parametrize(
    ("kind", "status", "span"),
    [
        ("http", 404, 10),
        ("http", 429, 30),
        ("http", 500, 10),
        ("http", 503, 30),
        ("app_engine", 429, 10),
        ("app_engine", 503, 30),
    ],
)
def test_task_that_met_congestion_waits_longer(emulate, kind, status, span):
    emulator = emulate(dynamics=GENTLE)
    queue = emulator.queue(retry_config={"min_backoff": {"seconds": 10}})
    request = {"url": "http://t"} if kind == "http" else {"relative_uri": "/"}
    field = "http_request" if kind == "http" else "app_engine_http_request"
    name = emulator.task(queue, **{field: request}).name
    emulator.end(emulator.due()[0], status)
    due = emulator.client.get_task(name=name).schedule_time.timestamp()
    assert due == pytest.approx(emulator.now + span)


def test_congestion_changes_no_setting_that_callers_see(emulate):
    emulator = emulate(dynamics=FAITHFUL)
    queue = emulator.queue()
    before = emulator.client.get_queue(name=queue)
    emulator.task(queue)
    emulator.end(emulator.due()[0], 503)
    assert emulator.client.get_queue(name=queue) == before


@settings(deadline=None)
@given(
    events=st.lists(
        st.tuples(st.floats(0, 20), st.booleans(), st.booleans(), st.booleans()), max_size=80
    ),
    rate=st.floats(0.1, 500),
)
def test_pace_stays_between_cold_and_configured(events, rate):
    pace = Pace(SECOND, now=START)
    now = START
    for gap, congested, failed, starved in events:
        now += gap
        if starved:
            pace.starved()
        pace.responded(rate, congested=congested, failed=failed, now=now)
        pace.evaluate(rate, now=now)
        assert min(rate, SECOND.cold_rate) <= pace.rate(rate) <= rate
        assert 1 <= pace.burst(rate) < inf


def test_creates_within_the_first_rate_are_not_refused():
    load = Load(Overload(), now=START)
    strains = [load.add("", now=START + n / 400, draw=0.0) for n in range(4000)]
    assert not any(met.refused for met in strains)
    assert max(met.delay_s for met in strains) == Overload().latency_s


def test_creates_beyond_the_capacity_become_slow_and_some_are_refused():
    load = Load(Overload(), now=START)
    strains = [load.add("", now=START + n / 2000, draw=n % 10 / 10) for n in range(40_000)]
    assert strains[-1].delay_s > 20 * Overload().latency_s
    share = sum(met.refused for met in strains[-1000:]) / 1000
    assert share == pytest.approx(0.4, abs=0.05)


def test_capacity_grows_by_half_every_five_minutes_in_which_it_was_used():
    load = Load(Overload(first_rate=20), now=START)
    capacities = []
    for interval in range(4):
        rate = load.capacity * 0.95
        for n in range(int(rate * 300) + 2):
            load.add("", now=START + interval * 300 + n / rate, draw=1.0)
        capacities.append(load.capacity)
    assert capacities == pytest.approx([28.5, 40.6, 57.9, 82.5], rel=0.03)


def test_capacity_that_is_not_used_does_not_grow():
    load = Load(Overload(), now=START)
    for n in range(3000):
        load.add("", now=START + n, draw=1.0)
    assert load.capacity == 500


def test_sequential_names_cost_far_more_than_hashed_ones():
    hashed, sequential = Load(Overload(), now=START), Load(Overload(), now=START)
    for n in range(200):
        spread = f"{(n * 2654435761) % 2**32:08x}{n:08x}"
        last = hashed.add(spread, now=START + n, draw=1.0)
        worst = sequential.add(f"order-2026-{n:08d}", now=START + n, draw=1.0)
    assert worst.delay_s > 4 * last.delay_s


@settings(deadline=None)
@given(use=st.floats(0, 1000), draw=st.floats(0, 1, exclude_max=True))
def test_strain_grows_with_use_and_never_refuses_more_than_its_share(use, draw):
    met = strain(use, cost_s=0.0, draw=draw, overload=Overload())
    more = strain(use + 1, cost_s=0.0, draw=draw, overload=Overload())
    assert Overload().latency_s <= met.delay_s <= more.delay_s <= Overload().longest_s
    assert not (met.refused and draw >= Overload().refused)
