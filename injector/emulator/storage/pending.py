"""What has changed since the last write."""

import json
from dataclasses import astuple

from injector.emulator.api.service import Service
from injector.emulator.state.queue import Queue
from injector.emulator.state.registry import Witness
from injector.emulator.state.task import Attempt, Outcome, Task
from injector.emulator.storage.tables import Changes, Row


class Pending(Witness):
    """Gathers changes by what they change, so that the latest of several is written once."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._closed: dict[str, float | None] = {}
        self._queues: dict[str, Queue] = {}
        self._tasks: dict[tuple[str, str], Task] = {}
        self._removed: dict[tuple[str, str], float] = {}
        self._operations: dict[str, Row | None] = {}
        self._policies: set[str] = set()
        self._keys: set[str] = set()
        self._are_names_released = False

    @property
    def is_empty(self) -> bool:
        """Tell whether nothing has changed."""
        return not (
            self._closed
            or self._queues
            or self._tasks
            or self._removed
            or self._operations
            or self._policies
            or self._keys
            or self._are_names_released
        )

    def take(self, service: Service, *, now: float) -> Changes:
        """Return the changes as rows, and begin anew."""
        changes = Changes()
        if self._are_names_released:
            changes.add("unbury_all", ())
        for name, until in self._closed.items():
            for statement in ("close_queue", "close_tasks", "close_reserved"):
                changes.add(statement, (name,))
            if until is not None:
                changes.add("bury", (name, until))
        for queue in self._queues.values():
            changes.add("unbury", (queue.name,))
            changes.add("queue", _queue_row(service, queue))
        changes.add("remove", *self._removed)
        changes.add("reserve", *((*key, until) for key, until in self._removed.items()))
        changes.add("task", *(_task_row(key[0], task) for key, task in self._tasks.items()))
        changes.add("operation", *(row for row in self._operations.values() if row))
        changes.add("forget", *((name,) for name, row in self._operations.items() if not row))
        for name in self._policies:
            policy = service.policies.get(name)
            changes.add("forget_policy", (name,))
            if policy is not None:
                changes.add("policy", (name, policy.SerializeToString()))
        changes.add("key", *((location, service.keys[location]) for location in self._keys))
        changes.add("expire", (now,))
        self._begin()
        return changes

    def operation_kept(self, name: str, key: str, form: bytes) -> None:
        """Take note of a finished operation."""
        self._operations[name] = (name, key, form)

    def operation_dropped(self, name: str) -> None:
        """Take note of an operation that is forgotten."""
        self._operations[name] = None

    def policy_changed(self, queue: str) -> None:
        """Take note of a queue whose policy is new, changed or gone."""
        self._policies.add(queue)

    def key_changed(self, location: str) -> None:
        """Take note of a location whose key has changed."""
        self._keys.add(location)

    def queue_changed(self, queue: Queue) -> None:
        """Take note of a queue's settings and state."""
        self._queues[queue.name] = queue

    def queue_deleted(self, queue: Queue, *, reserved_until: float) -> None:
        """Take note of a queue's end; what changed of its tasks before does not matter any more."""
        self._queues.pop(queue.name, None)
        self._tasks = {k: task for k, task in self._tasks.items() if k[0] != queue.name}
        self._removed = {k: until for k, until in self._removed.items() if k[0] != queue.name}
        self._closed[queue.name] = reserved_until

    def names_released(self) -> None:
        """Take note that the names of deleted queues are free."""
        self._closed = dict.fromkeys(self._closed)
        self._are_names_released = True

    def task_added(self, queue: Queue, task: Task) -> None:
        """Take note of a new task."""
        self._tasks[queue.name, task.id] = task

    def attempt_started(self, queue: Queue, attempt: Attempt) -> None:
        """Take note of a task's counts."""
        self._tasks[queue.name, attempt.task.id] = attempt.task

    def attempt_ended(
        self, queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float
    ) -> None:
        """Take note of a task's counts and next time."""
        del outcome, now
        self._tasks[queue.name, attempt.task.id] = attempt.task

    def task_removed(
        self, queue: Queue, task: Task, *, reason: str, reserved_until: float, now: float
    ) -> None:
        """Take note of a task's end."""
        del reason, now
        self._tasks.pop((queue.name, task.id), None)
        self._removed[queue.name, task.id] = reserved_until


def _queue_row(service: Service, queue: Queue) -> Row:
    config = service.configs[queue.name].SerializeToString()
    return (queue.name, config, queue.state.value, queue.purged_at)


def _task_row(queue: str, task: Task) -> Row:
    last = None if task.last is None else json.dumps(astuple(task.last))
    return (
        queue,
        task.id,
        task.seq,
        task.form,
        task.schedule_at,
        task.created_at,
        task.generated,
        task.to_app_engine,
        task.dispatch_count,
        task.response_count,
        task.executions,
        task.first_dispatch_at,
        task.previous_status,
        last,
    )
