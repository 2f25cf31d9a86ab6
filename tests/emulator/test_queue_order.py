"""In which order tasks leave a queue, however they were put in and moved."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.state import dispatching
from injector.emulator.state.dynamics import OFF
from injector.emulator.state.limits import Limits
from injector.emulator.state.queue import Queue
from injector.emulator.state.task import NOT_QUEUED, Task

steps = st.lists(
    st.tuples(st.sampled_from(["add", "take", "move", "remove", "force"]), st.integers(0, 6)),
    max_size=60,
)


def do(queue: Queue, what: str, number: int) -> None:
    """Add a task that is due then, or do something to the one of that number."""
    waiting = [task for task in queue.tasks_after(-1) if task.due != NOT_QUEUED]
    if what == "add":
        queue.add(Task(f"t{len(queue.order)}", b"form", float(number), 0.0))
    elif what == "take":
        task = queue.first_due()
        if task is not None:
            task.due, task.in_line = NOT_QUEUED, False
    elif waiting and what == "move":
        queue.schedule(waiting[number % len(waiting)], float(number))
    elif waiting and what == "remove":
        queue.remove(waiting[number % len(waiting)], reserved_until=inf)
    elif waiting:
        dispatching.force(queue, waiting[number % len(waiting)], now=0.0)


@given(steps)
def test_first_due_is_the_earliest_of_those_that_wait(steps):
    queue = Queue("q", Limits(), OFF, now=0.0)
    for what, number in steps:
        do(queue, what, number)
        waiting = [t for t in queue.tasks_after(-1) if t.due != NOT_QUEUED]
        earliest = min(waiting, key=lambda task: (task.due, task.seq), default=None)
        assert queue.first_due() is earliest
