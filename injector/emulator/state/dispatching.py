"""Which tasks leave a queue now, and what their attempts' ends do to them."""

from math import inf

from injector.emulator.state.queue import Queue, QueueState
from injector.emulator.state.retries import backoff_s, is_given_up
from injector.emulator.state.task import NOT_QUEUED, Attempt, LastAttempt, Outcome, Task

AT_ONCE = 200
"""The most tasks taken from one queue in one go, so that others get their turn."""


def take_due(queue: Queue, *, now: float, at_once: int = AT_ONCE) -> list[Attempt]:
    """Start every attempt that time, state, concurrency and rate allow."""
    if queue.state is not QueueState.RUNNING:
        return []
    _evaluate(queue, now=now)
    taken: list[Attempt] = []
    queue.blocked_until = -inf
    while len(taken) < at_once:
        task = queue.first_due()
        if task is None or task.due > now or _is_held_back(queue, now=now):
            break
        taken.append(_start(queue, task, now=now))
    return taken


def next_wake(queue: Queue) -> float:
    """Return when `take_due` may yield something again; infinite if only an event can."""
    if queue.state is not QueueState.RUNNING:
        return inf
    task = queue.first_due()
    return inf if task is None else max(task.due, queue.blocked_until)


def force(queue: Queue, task: Task, *, now: float) -> Attempt:
    """Start an attempt now, whatever the queue's state and limits (RunTask).

    The task leaves the schedule, so that a future one is not dispatched a second time.
    """
    return _begin(queue, task, schedule_at=now, now=now, forced=True)


def settle(queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float) -> bool:
    """Take in an attempt's end; tell whether the task is over, done or given up.

    The caller removes a task that is over. A task that is gone already only frees its place.
    """
    if not attempt.forced:
        queue.in_flight -= 1
        if queue.blocked_until == inf:
            queue.blocked_until = -inf
    task = attempt.task
    task.in_flight -= 1
    _tell_pace(queue, task, outcome, now=now)
    if task.is_gone:
        return False
    _record(task, attempt, outcome, now=now)
    return outcome.is_success or _retry(queue, attempt, outcome, now=now)


def is_congestion(outcome: Outcome, *, to_app_engine: bool) -> bool:
    """Tell whether an attempt's end is a sign that the target has too much to do.

    429 and 5xx are ("Manage scaling risks"), and a time-out, which counts as 504; from App Engine
    only 503 is (AppEngineHttpRequest).
    """
    if to_app_engine:
        return outcome.status == 503
    return outcome.timed_out or outcome.status == 429 or (outcome.status or 0) >= 500


def asks_to_wait(outcome: Outcome, *, to_app_engine: bool) -> bool:
    """Tell whether an answer by itself slows down its queue, and its task beyond its settings.

    Of the 5xx only 503 does (HttpRequest); 429 does so too, but not from App Engine.
    """
    return outcome.status == 503 or (outcome.status == 429 and not to_app_engine)


def _evaluate(queue: Queue, *, now: float) -> None:
    if queue.pace.evaluate(queue.limits.rate.max_dispatches_per_second, now=now):
        queue.retune(now=now)


def _is_held_back(queue: Queue, *, now: float) -> bool:
    if queue.in_flight >= queue.limits.rate.max_concurrent_dispatches:
        queue.blocked_until = inf
        return True
    if not queue.bucket.take(now=now):
        queue.pace.starved()
        queue.blocked_until = queue.bucket.next_at(now=now)
        return True
    return False


def _start(queue: Queue, task: Task, *, now: float) -> Attempt:
    queue.in_flight += 1
    return _begin(queue, task, schedule_at=task.schedule_at, now=now, forced=False)


def _begin(queue: Queue, task: Task, *, schedule_at: float, now: float, forced: bool) -> Attempt:
    queue.pace.dispatched(now=now)
    task.due = NOT_QUEUED
    task.in_line = False
    attempt = Attempt(task, task.dispatch_count, schedule_at, now, forced)
    if not task.dispatch_count:
        task.first_dispatch_at = now
    task.dispatch_count += 1
    task.in_flight += 1
    task.last = LastAttempt(schedule_at, now)
    return attempt


def _tell_pace(queue: Queue, task: Task, outcome: Outcome, *, now: float) -> None:
    rate = queue.limits.rate.max_dispatches_per_second
    cut = queue.pace.responded(
        rate,
        failed=not outcome.is_success,
        congested=is_congestion(outcome, to_app_engine=task.to_app_engine),
        asked=asks_to_wait(outcome, to_app_engine=task.to_app_engine),
        now=now,
    )
    if cut:
        queue.retune(now=now)


def _record(task: Task, attempt: Attempt, outcome: Outcome, *, now: float) -> None:
    task.last = LastAttempt(
        attempt.schedule_at, attempt.dispatch_at, now, outcome.status, outcome.timed_out
    )
    task.previous_status = _previous_response(outcome, to_app_engine=task.to_app_engine)
    if outcome.status is not None:
        task.response_count += 1
        # HTTP targets leave 5xx answers out of the execution count, App Engine counts each.
        task.executions += task.to_app_engine or outcome.status < 500


def _previous_response(outcome: Outcome, *, to_app_engine: bool) -> int:
    """Return what the next attempt's header says of this one (as recorded from production)."""
    if outcome.status is not None:
        return outcome.status
    return 504 if outcome.timed_out and not to_app_engine else 0


def _retry(queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float) -> bool:
    """Schedule the next attempt, counted from the failure, or tell that there is none."""
    task = attempt.task
    retry = task.retry or queue.limits.retry
    since_first_s = now - task.first_dispatch_at
    if is_given_up(task.dispatch_count, since_first_s=since_first_s, retry=retry):
        return True
    wait_s = backoff_s(task.dispatch_count, retry=retry)
    asked = asks_to_wait(outcome, to_app_engine=task.to_app_engine)
    wait_s *= queue.pace.backoff_factor(asked=asked)
    start = attempt.dispatch_at if attempt.forced else now
    queue.schedule(task, start + max(wait_s, outcome.retry_after_s))
    if task.in_flight:
        task.due = NOT_QUEUED  # the attempt still in flight decides
    return False
