"""A queue: its tasks, its settings and what it may dispatch."""

from collections import deque
from collections.abc import Iterator
from enum import Enum
from heapq import heapify, heappop, heappush
from math import inf

from injector.emulator.state.bucket import Bucket
from injector.emulator.state.dynamics import Dynamics, Pace
from injector.emulator.state.limits import RETENTION_S, Limits
from injector.emulator.state.names import Names
from injector.emulator.state.task import NOT_QUEUED, Task


class QueueState(Enum):
    """Whether a queue dispatches; the values are those of Queue.State."""

    RUNNING = 1
    PAUSED = 2
    DISABLED = 3


class Queue:
    """Tasks in the order of their schedule times, under the queue's limits.

    `order` holds the tasks as created, and gone ones until they are most of it, so that pages
    of a million tasks cost no more than pages of ten. `line` holds those that came in the order
    of their times, as most do, and costs the same however long it is; the others, and those to
    be tried again, are in `heap`. `blocked_until` is when the rate lets the next task go; infinite
    while the concurrency limit is reached.
    """

    __slots__ = (
        "_line_end",
        "_next_seq",
        "blocked_until",
        "bucket",
        "heap",
        "in_flight",
        "limits",
        "line",
        "name",
        "names",
        "opened_at",
        "order",
        "pace",
        "prefix",
        "purged_at",
        "state",
        "wake_at",
    )

    def __init__(self, name: str, limits: Limits, dynamics: Dynamics, *, now: float) -> None:
        self.name = name
        self.prefix = name + "/tasks/"
        self.limits = limits
        self.state = QueueState.RUNNING
        self.opened_at = now
        self.purged_at: float | None = None
        self.names = Names()
        self.order: list[Task] = []
        self.line: deque[Task] = deque()
        self.heap: list[tuple[float, int, Task]] = []
        self.pace = Pace(dynamics, now=now)
        self.bucket = Bucket(rate=1.0, burst=1.0, now=now)
        self.in_flight = 0
        self.blocked_until = -inf
        self.wake_at = inf
        self._line_end = -inf
        self._next_seq = 0
        self.retune(now=now)
        self._fill(now=now)

    @property
    def id(self) -> str:
        """Return the last part of the name."""
        return self.name.rpartition("/")[2]

    @property
    def depth(self) -> int:
        """Return how many tasks there are, being attempted or not."""
        return self.names.live

    def add(self, task: Task) -> None:
        """Take a task in; its id must be free."""
        seq = task.seq = self._next_seq
        self._next_seq = seq + 1
        self.names.add(task)
        self.order.append(task)
        due = task.due = task.schedule_at
        line = self.line
        if due >= self._line_end or not line:
            task.in_line = True
            self._line_end = due
            line.append(task)
        else:
            heappush(self.heap, (due, seq, task))

    def put_back(self, task: Task) -> None:
        """Take in a task that has its number already: one after those that are there."""
        self._next_seq = task.seq
        self.add(task)

    def schedule(self, task: Task, at: float) -> None:
        """Let the task be attempted at that time, instead of at any time set before."""
        task.schedule_at = task.due = at
        task.in_line = False
        heappush(self.heap, (at, task.seq, task))

    def remove(self, task: Task, *, reserved_until: float) -> None:
        """Drop a task and reserve its id until then; an attempt in flight changes nothing more."""
        task.form = b""
        task.due = NOT_QUEUED
        task.in_line = False
        self.names.free(task.id, until=reserved_until)
        self._compact()

    def retune(self, *, now: float) -> None:
        """Bring the bucket in line with the limits and the pace."""
        rate = self.limits.rate.max_dispatches_per_second
        self.bucket.retune(rate=self.pace.rate(rate), burst=self.pace.burst(rate), now=now)
        if self.blocked_until < inf:
            self.blocked_until = -inf

    def tasks_after(self, seq: int) -> Iterator[Task]:
        """Return the live tasks created after the one of that number, in order."""
        order = self.order
        for position in range(_first_after(order, seq), len(order)):
            if order[position].form:
                yield order[position]

    def expired(self, *, now: float) -> list[Task]:
        """Return the tasks that have outlived their retention, but for those being attempted."""
        found = []
        for task in self.order:
            if now - task.created_at < RETENTION_S:
                break
            if task.form and not task.in_flight:
                found.append(task)
        return found

    def first_due(self) -> Task | None:
        """Return the task to attempt next, whenever that is, and leave it where it is."""
        line, heap = self.line, self.heap
        while line and not line[0].in_line:
            line.popleft()
        while heap and heap[0][2].due != heap[0][0]:
            heappop(heap)
        if not line:
            return heap[0][2] if heap else None
        first = line[0]
        if not heap:
            return first
        return first if (first.due, first.seq) < heap[0][:2] else heap[0][2]

    def _fill(self, *, now: float) -> None:
        rate = self.limits.rate.max_dispatches_per_second
        burst = self.pace.burst(rate)
        self.bucket = Bucket(rate=self.pace.rate(rate), burst=burst, now=now)

    def _compact(self) -> None:
        live = self.names.live
        if len(self.order) > 2 * live + 1000:
            self.order = [task for task in self.order if task.form]
        if len(self.line) > 2 * live + 1000:
            self.line = deque([task for task in self.line if task.in_line])
        if len(self.heap) > 2 * live + 1000:
            self.heap = [entry for entry in self.heap if entry[2].due == entry[0]]
            heapify(self.heap)


def _first_after(order: list[Task], seq: int) -> int:
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if order[middle].seq <= seq:
            low = middle + 1
        else:
            high = middle
    return low
