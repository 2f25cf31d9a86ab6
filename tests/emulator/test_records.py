"""Records of what happened stay within bounds, however long a run lasts."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.records.history import History
from injector.emulator.records.series import Series
from injector.emulator.state.dynamics import OFF
from injector.emulator.state.limits import Limits
from injector.emulator.state.queue import Queue
from injector.emulator.state.task import Attempt, Outcome, Task

DAY_S = 86_400.0


@pytest.fixture
def queue() -> Queue:
    return Queue("q", Limits(), OFF, now=0.0)


def fail(history: History, queue: Queue, task: Task, times: int = 1) -> None:
    for number in range(times):
        history.attempt_ended(queue, Attempt(task, number, 0.0, 0.0), Outcome(500), now=1.0)


def finish(history: History, queue: Queue, task: Task) -> None:
    history.task_removed(queue, task, reason="given up", reserved_until=0.0, now=2.0)


def test_attempts_of_unfinished_tasks_are_kept_for_the_latest_ones(queue):
    history = History()
    for number in range(10_010):
        fail(history, queue, Task(str(number), b"form", 0.0, 0.0))
    kept = [bool(history.attempts(f"q/tasks/{number}")) for number in (0, 9, 10, 10_009)]
    assert kept == [False, False, True, True]


def test_finished_tasks_with_many_attempts_make_room_sooner(queue):
    history = History()
    for number in range(1100):
        task = Task(str(number), b"form", 0.0, 0.0)
        fail(history, queue, task, times=200)
        finish(history, queue, task)
    assert len(history.finished) == 1000
    assert len(history.finished[-1].attempts) == 100
    assert history.end_of("q/tasks/99") is None


def test_finished_tasks_are_the_ten_thousand_latest(queue):
    history = History()
    for number in range(10_001):
        finish(history, queue, Task(str(number), b"form", 0.0, 0.0))
    assert [history.finished[0].name, len(history.finished)] == ["q/tasks/1", 10_000]


def read_pages(history, queue, limit, meanwhile=lambda: None):
    names, before = [], None
    while True:
        page, before = history.page(queue, limit=limit, before=before)
        assert len(page) <= limit
        names += [one.name for one in page]
        if before is None:
            return names
        meanwhile()


@given(
    ended=st.lists(st.sampled_from(["q", "q2"]), max_size=30),
    limit=st.integers(1, 10),
    more=st.integers(0, 3),
)
def test_pages_of_finished_tasks_add_up_to_all_of_them_though_others_end_meanwhile(
    ended, limit, more
):
    history, numbers = History(), count()

    def end(name):
        queue = Queue(name, Limits(), OFF, now=0.0)
        finish(history, queue, Task(str(next(numbers)), b"form", 0.0, 0.0))

    for name in ended:
        end(name)
    for asked in ("q", "q2", ""):
        named = [one.name for one in reversed(history.finished)]
        wanted = [name for name in named if name.startswith(f"{asked}/" if asked else "")]
        assert read_pages(history, asked, limit, lambda: [end("q") for _ in range(more)]) == wanted


def test_pages_go_on_where_tasks_are_forgotten_meanwhile(queue):
    history = History()
    for number in range(10_000):
        finish(history, queue, Task(str(number), b"form", 0.0, 0.0))
    _, before = history.page("q", limit=1000, before=None)
    for number in range(10_000, 10_500):
        finish(history, queue, Task(str(number), b"form", 0.0, 0.0))
    page, before = history.page("q", limit=8_400, before=before)
    assert (page[0].name, page[-1].name, len(page)) == ("q/tasks/8999", "q/tasks/600", 8_400)
    page, before = history.page("q", limit=1000, before=before)
    assert ([page[0].name, page[-1].name], before) == (["q/tasks/599", "q/tasks/500"], None)
    history.clear()
    assert history.page("q", limit=10, before=5_000) == ([], None)


def test_series_without_a_point_for_a_day_is_dropped():
    series = Series()
    series.count(("gone",), now=0.0)
    series.count(("there",), now=DAY_S)
    series.forget(now=DAY_S)
    assert series.labels() == [("gone",), ("there",)]
    series.forget(now=DAY_S + 120)
    assert series.labels() == [("there",)]
    assert series.totals() == {("gone",): 1, ("there",): 1}
