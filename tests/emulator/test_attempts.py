"""Attempts: what leaves when, what its end does, and how a task's record follows."""

from itertools import pairwise

import pytest
from google.cloud import tasks_v2
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.state.limits import RetryConfig
from injector.emulator.state.retries import backoff_s, is_given_up
from tests.emulator.direct import refused


def fail_until(direct, seconds, status=500):
    """Fail every attempt as it falls due, and return the seconds between them."""
    start, times = direct.now, []
    while direct.now - start < seconds:
        for started in direct.due():
            times.append(direct.now)
            direct.end(started, status)
        direct.advance(0.05)
    return [round(after - before, 1) for before, after in pairwise(times)]


def test_backoff_doubles_then_grows_linearly_then_stays():
    retry = RetryConfig(min_backoff_s=10, max_backoff_s=300, max_doublings=3)
    spans = [backoff_s(failures, retry=retry) for failures in range(1, 10)]
    assert spans == [10, 20, 40, 80, 160, 240, 300, 300, 300]


@settings(deadline=None)
@given(
    failures=st.integers(1, 10**9),
    least=st.floats(0.001, 1000),
    extra=st.floats(0, 10**6),
    doublings=st.integers(0, 2**31 - 1),
)
def test_backoff_never_shrinks_and_stays_within_its_bounds(failures, least, extra, doublings):
    retry = RetryConfig(min_backoff_s=least, max_backoff_s=least + extra, max_doublings=doublings)
    span = backoff_s(failures, retry=retry)
    assert least <= span <= least + extra
    assert backoff_s(failures + 1, retry=retry) >= span


@pytest.mark.parametrize(
    ("most", "duration", "attempts", "passed", "over"),
    [
        (2, 0, 1, 9, False),
        (2, 0, 2, 0, True),
        (-1, 0, 10**6, 10**6, False),
        (2, 10, 2, 9, False),
        (2, 10, 1, 11, False),
        (2, 10, 2, 11, True),
        (-1, 10, 5, 9, False),
        (-1, 10, 5, 10, True),
    ],
)
def test_retries_end_when_every_limit_that_is_set_is_met(most, duration, attempts, passed, over):
    retry = RetryConfig(max_attempts=most, max_retry_duration_s=duration)
    assert is_given_up(attempts, since_first_s=passed, retry=retry) is over


def test_retries_of_a_failing_task_keep_the_curve(direct):
    direct.task(direct.queue(retry_config={"max_doublings": 1}))
    assert fail_until(direct, 2.5) == [0.1, 0.2, 0.4, 0.6, 0.8]


def test_own_retry_settings_beat_the_queues(direct):
    queue = direct.queue(retry_config={"max_attempts": 50})
    direct.task(queue, retry_config={"max_attempts": 2, "min_backoff": {"seconds": 1}})
    assert fail_until(direct, 5) == [1.0]
    assert direct.depth(queue) == 0


def test_changed_retry_settings_hold_for_tasks_that_wait(direct):
    queue = direct.queue()
    direct.task(queue)
    direct.client.update_queue(queue={"name": queue, "retry_config": {"max_attempts": 1}})
    direct.end(direct.due()[0], 500)
    assert direct.depth(queue) == 0


def test_backoff_counts_from_the_failure(direct):
    queue = direct.queue(retry_config={"min_backoff": {"seconds": 10}})
    name = direct.task(queue).name
    (started,) = direct.due()
    direct.advance(300)
    direct.end(started, 500)
    task = direct.client.get_task(name=name)
    assert task.schedule_time.timestamp() == direct.now + 10


def test_retry_after_is_considered_if_it_is_longer(direct):
    queue = direct.queue(retry_config={"min_backoff": {"seconds": 10}})
    names = [direct.task(queue).name for _ in range(2)]
    for started, wait_s in zip(direct.due(), (3.0, 60.0), strict=True):
        direct.end(started, 503, retry_after_s=wait_s)
    times = [direct.client.get_task(name=n).schedule_time.timestamp() for n in names]
    assert times == [direct.now + 10, direct.now + 60]


def test_record_of_a_running_first_attempt(direct):
    name = direct.task(direct.queue()).name
    direct.due()
    task = tasks_v2.Task.pb(direct.client.get_task(name=name))
    assert (task.dispatch_count, task.response_count) == (1, 0)
    assert task.first_attempt.HasField("dispatch_time")
    assert task.last_attempt.HasField("schedule_time")
    assert not task.last_attempt.HasField("response_time")


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 3), (401, 16), (403, 7), (404, 5), (409, 10), (418, 9), (429, 8), (500, 13), (503, 14)],
)
def test_record_of_a_failed_attempt_has_its_rpc_code_and_times(direct, status, code):
    name = direct.task(direct.queue()).name
    (started,) = direct.due()
    direct.advance(2)
    direct.end(started, status)
    task = tasks_v2.Task.pb(direct.client.get_task(name=name))
    assert task.last_attempt.response_status.code == code
    assert f"HTTP status code {status}" in task.last_attempt.response_status.message
    assert task.last_attempt.response_time.seconds == task.last_attempt.dispatch_time.seconds + 2
    assert not task.first_attempt.HasField("response_time")
    assert (task.dispatch_count, task.response_count) == (1, 1)


@pytest.mark.parametrize(("timed_out", "code"), [(True, 4), (False, 2)])
def test_attempt_without_an_answer_counts_no_response(direct, timed_out, code):
    name = direct.task(direct.queue()).name
    direct.end(direct.due()[0], None, timed_out=timed_out)
    task = direct.client.get_task(name=name)
    assert (task.dispatch_count, task.response_count) == (1, 0)
    assert task.last_attempt.response_status.code == code


def test_future_task_leaves_at_its_time_and_not_before(direct):
    queue = direct.queue()
    direct.task(queue, schedule_time={"seconds": int(direct.now) + 100})
    direct.advance(99.9)
    assert direct.due() == []
    direct.advance(0.1)
    assert len(direct.due()) == 1


def test_tasks_leave_in_the_order_of_their_times(direct):
    queue = direct.queue()
    for task_id, after in (("c", 30), ("a", 10), ("b", 20)):
        direct.task(queue, task_id, schedule_time={"seconds": int(direct.now) + after})
    direct.advance(60)
    assert [attempt.task.id for _, attempt in direct.due()] == ["a", "b", "c"]


def test_deleted_task_is_not_retried_when_its_attempt_fails(direct):
    queue = direct.queue()
    name = direct.task(queue).name
    (started,) = direct.due()
    direct.client.delete_task(name=name)
    direct.end(started, 500)
    direct.advance(10)
    assert direct.due() == []


def test_concurrency_limit_holds_and_a_place_is_taken_at_once(direct):
    queue = direct.queue(rate_limits={"max_concurrent_dispatches": 2})
    for _ in range(5):
        direct.task(queue)
    first, second = direct.due()
    assert direct.due() == []
    direct.end(first)
    assert len(direct.due()) == 1
    direct.client.pause_queue(name=queue)
    direct.end(second)
    direct.client.resume_queue(name=queue)
    assert len(direct.due()) == 1


def test_lowered_concurrency_holds_for_what_comes_after(direct):
    queue = direct.queue(rate_limits={"max_concurrent_dispatches": 3})
    for _ in range(6):
        direct.task(queue)
    started = direct.due()
    limits = {"max_concurrent_dispatches": 1}
    direct.client.update_queue(queue={"name": queue, "rate_limits": limits})
    direct.end(started[0])
    direct.end(started[1])
    assert direct.due() == []
    direct.end(started[2])
    assert len(direct.due()) == 1


def test_run_dispatches_whatever_state_schedule_and_limits(direct):
    queue = direct.queue(rate_limits={"max_concurrent_dispatches": 1})
    direct.client.pause_queue(name=queue)
    name = direct.task(queue, schedule_time={"seconds": int(direct.now) + 3600}).name
    task = direct.client.run_task(name=name)
    assert task.dispatch_count == 1
    direct.end(direct.forced[0])
    with refused("NOT_FOUND"):
        direct.client.run_task(name=name)


def test_run_takes_no_place_and_is_not_followed_by_the_scheduled_dispatch(direct):
    queue = direct.queue(rate_limits={"max_concurrent_dispatches": 1})
    name = direct.task(queue, schedule_time={"seconds": int(direct.now) + 5}).name
    direct.client.run_task(name=name)
    direct.task(queue, "other")
    (started,) = direct.due()
    assert started[1].task.id == "other"
    direct.end(started)
    direct.advance(10)
    assert direct.due() == []


def test_failed_run_counts_its_delay_from_the_run(direct):
    queue = direct.queue(retry_config={"min_backoff": {"seconds": 5}})
    name = direct.task(queue, schedule_time={"seconds": int(direct.now) + 3600}).name
    ran = direct.now
    direct.client.run_task(name=name)
    direct.advance(2)
    direct.end(direct.forced[0], 404)
    assert direct.client.get_task(name=name).schedule_time.timestamp() == ran + 5
    direct.advance(3)
    assert [attempt.number for _, attempt in direct.due()] == [1]


def test_task_that_is_run_while_running_is_retried_once_both_have_failed(direct):
    queue = direct.queue()
    name = direct.task(queue).name
    (started,) = direct.due()
    direct.client.run_task(name=name)
    direct.end(started, 500)
    direct.advance(5)
    assert direct.due() == []
    direct.end(direct.forced[0], 500)
    direct.advance(5)
    assert len(direct.due()) == 1


def test_success_of_either_attempt_ends_the_task(direct):
    queue = direct.queue()
    name = direct.task(queue).name
    (started,) = direct.due()
    direct.client.run_task(name=name)
    direct.end(direct.forced[0], 200)
    direct.end(started, 500)
    direct.advance(5)
    assert (direct.due(), direct.depth(queue)) == ([], 0)
