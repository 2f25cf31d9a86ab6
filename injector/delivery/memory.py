"""Queues and tasks in this process's memory, for tests and dry runs: plain code, no service."""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from injector.delivery.counted import count
from injector.delivery.ports import Create, Deleted, Queue, Result
from injector.delivery.verdict import CREATED, EXISTED, judge
from injector.errors import NotFound
from injector.groups import Retry
from injector.pacing.signals import Signals, Tally

MISSING = "Queue does not exist."


class MemoryQueues:
    """Queues that hold what was created in them; creator and queue administration in one.

    `faults` end the next creates with those status codes, first come first served, and
    `faults_met` counts them. `created` maps each task's full name to its create. `withheld` are
    permissions that nobody has. Creates do not find the queues that are `unseen`, though they are
    there, as production does not for a while after they were made.
    """

    def __init__(self, queues: Iterable[Queue] = (), *, faults: Iterable[str] = ()) -> None:
        self.queues = {queue.name: queue for queue in queues}
        self.created: dict[str, Create] = {}
        self.withheld: set[str] = set()
        self.unseen: set[str] = set()
        self.faults_met: Counter[str] = Counter()
        self._faults = list(faults)
        self._tally = Tally()
        self._deleted: dict[str, Deleted] = {}
        self._lock = threading.Lock()

    def create_all(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create each task once."""
        del budget_s
        with self._lock:
            results = [self._create(create) for create in creates]
            count(results, self._tally)
        return results

    def hedge_tokens(self) -> None:
        """Return None: nothing is hedged."""

    def drain_signals(self) -> Signals:
        """Return how creates ended since the last time."""
        with self._lock:
            return self._tally.drain()

    def create_injector_tasks(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create injector tasks like any others."""
        return self.create_all(creates, budget_s=budget_s)

    def delete_tasks(
        self, names: Mapping[str, Sequence[str]], *, mark: str, budget_s: float
    ) -> Deleted:
        """Delete what is there; the same mark again finds what it found before."""
        del budget_s
        with self._lock:
            known = self._deleted.get(mark)
            if known:
                return known
            listed = [name for tasks in names.values() for name in tasks]
            found = [name for name in listed if self.created.pop(name, None)]
            deleted = Deleted(len(found), len(listed) - len(found))
            if mark:
                self._deleted[mark] = deleted
        return deleted

    def get_queue(self, queue: str) -> Queue:
        """Return the queue."""
        if queue not in self.queues:
            raise NotFound(f"GetQueue {queue}: {MISSING}")
        return self.queues[queue]

    def update_rate(
        self, queue: str, *, rate: float | None = None, concurrency: int | None = None
    ) -> Queue:
        """Set what is given."""
        with self._lock:
            old = self.get_queue(queue)
            new = replace(
                old,
                rate=old.rate if rate is None else rate,
                concurrency=old.concurrency if concurrency is None else concurrency,
            )
            self.queues[queue] = new
        return new

    def pause_queue(self, queue: str) -> Queue:
        """Keep the queue from dispatching."""
        return self._in_state(queue, "PAUSED")

    def resume_queue(self, queue: str) -> Queue:
        """Let the queue dispatch again."""
        return self._in_state(queue, "RUNNING")

    def create_queue(self, queue: Queue) -> Queue:
        """Create the queue unless it is there."""
        with self._lock:
            return self.queues.setdefault(queue.name, queue)

    def set_queue(self, queue: Queue, only: Sequence[str]) -> Queue:
        """Set these fields."""
        with self._lock:
            self.queues[queue.name] = with_fields(self.get_queue(queue.name), queue, only)
            return self.queues[queue.name]

    def granted(self, queue: str, permissions: Sequence[str]) -> Sequence[str]:
        """Return the permissions but those that are withheld, on a queue that is there."""
        return [each for each in permissions if queue in self.queues and each not in self.withheld]

    def list_queues(self, parent: str) -> Sequence[Queue]:
        """Return every queue of the location."""
        with self._lock:
            return [queue for name, queue in self.queues.items() if name.startswith(f"{parent}/")]

    def _in_state(self, queue: str, state: str) -> Queue:
        with self._lock:
            self.queues[queue] = replace(self.get_queue(queue), state=state)
            return self.queues[queue]

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def _create(self, create: Create) -> Result:
        name = f"{create.queue}/tasks/{create.task_id}"
        if self._faults:
            code = self._faults.pop(0)
            self.faults_met[code] += 1
            return judge(code, "asked for by a test", create.queue)
        if create.queue not in self.queues or create.queue in self.unseen:
            return judge("NOT_FOUND", MISSING, create.queue)
        if name in self.created:
            return EXISTED
        self.created[name] = create
        return CREATED


def with_fields(queue: Queue, wanted: Queue, only: Sequence[str]) -> Queue:
    """Return the queue with these fields as wanted."""
    own = {name: getattr(wanted, name) for name in only if name in {"rate", "concurrency"}}
    retry = {name: getattr(wanted.retry, name) for name in only if name not in own}
    return replace(queue, **own, retry=replace(queue.retry or Retry(), **retry))
