"""Every queue there is, and what can be done to queues and tasks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from injector.emulator.state import dispatching
from injector.emulator.state.agenda import Agenda
from injector.emulator.state.dynamics import GENTLE, Dynamics
from injector.emulator.state.limits import Limits
from injector.emulator.state.queue import Queue, QueueState
from injector.emulator.state.task import Attempt, Outcome, Task


@dataclass(frozen=True, slots=True)
class Windows:
    """How long names stay reserved, in seconds; the longest that the documentation gives.

    Ids that the service made up are kept for less: nobody repeats them, and a day of them
    would fill the memory.
    """

    task_s: float = 24 * 3600.0
    generated_task_s: float = 3600.0
    queue_s: float = 3 * 24 * 3600.0


class Witness:
    """Is told what happens, after it has happened; what a class leaves out, it ignores."""

    def queue_changed(self, queue: Queue) -> None:
        """Take note of a queue that is new, changed, paused, resumed or purged."""

    def queue_deleted(self, queue: Queue, *, reserved_until: float) -> None:
        """Take note of a queue that is gone with its tasks."""

    def names_released(self) -> None:
        """Take note that the names of deleted queues are free."""

    def task_added(self, queue: Queue, task: Task) -> None:
        """Take note of a new task."""

    def attempt_started(self, queue: Queue, attempt: Attempt) -> None:
        """Take note of a dispatch."""

    def attempt_ended(
        self, queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float
    ) -> None:
        """Take note of an attempt's end, before the task is removed if it is over."""

    def task_removed(
        self, queue: Queue, task: Task, *, reason: str, reserved_until: float, now: float
    ) -> None:
        """Take note of a task that is over: succeeded, given up, deleted, purged or expired."""


class Registry:
    """All queues by name, the names of deleted ones, and the agenda of dispatches."""

    def __init__(
        self,
        witnesses: Iterable[Witness] = (),
        *,
        dynamics: Dynamics = GENTLE,
        windows: Windows | None = None,
    ) -> None:
        self.queues: dict[str, Queue] = {}
        self.agenda = Agenda()
        self.dynamics = dynamics
        self.windows = windows or Windows()
        self.graves: dict[str, float] = {}
        self._witnesses = tuple(witnesses)
        self._told_of_tasks = tuple(
            witness.task_added
            for witness in self._witnesses
            if type(witness).task_added is not Witness.task_added
        )

    def was_there(self, name: str, *, now: float) -> bool:
        """Tell whether a queue of this name was deleted too recently to be made again."""
        return self.graves.get(name, -inf) > now

    def open(self, name: str, limits: Limits, *, now: float) -> Queue:
        """Make a queue; the name must be free."""
        self.graves.pop(name, None)
        queue = self.queues[name] = Queue(name, limits, self.dynamics, now=now)
        self._tell_of(queue)
        return queue

    def configure(self, queue: Queue, limits: Limits, *, now: float) -> None:
        """Change a queue's limits; they hold from the next dispatch on."""
        queue.limits = limits
        queue.blocked_until = -inf
        queue.retune(now=now)
        self._tell_of(queue)
        self._note(queue)

    def pause(self, queue: Queue) -> None:
        """Stop dispatching; what is in flight ends as it will."""
        queue.state = QueueState.PAUSED
        self._tell_of(queue)

    def resume(self, queue: Queue, *, now: float) -> None:
        """Dispatch again, from the cold rate; a running queue stays as it is."""
        if queue.state is not QueueState.RUNNING:
            queue.state = QueueState.RUNNING
            queue.pace.chill(now=now)
            queue.retune(now=now)
        self._tell_of(queue)
        self._note(queue)

    def purge(self, queue: Queue, *, now: float) -> None:
        """Remove every task; their names stay reserved."""
        queue.purged_at = now
        for task in list(queue.tasks_after(-1)):
            self.remove(queue, task, reason="purged", now=now)
        self._tell_of(queue)

    def close(self, queue: Queue, *, now: float) -> None:
        """Delete a queue and its tasks; its name stays reserved."""
        del self.queues[queue.name]
        for task in list(queue.tasks_after(-1)):
            queue.remove(task, reserved_until=now)
        queue.state = QueueState.DISABLED
        until = self.graves[queue.name] = now + self.windows.queue_s
        for witness in self._witnesses:
            witness.queue_deleted(queue, reserved_until=until)

    def release_names(self) -> None:
        """Let the names of all deleted queues be used again at once."""
        self.graves.clear()
        for witness in self._witnesses:
            witness.names_released()

    def add(self, queue: Queue, task: Task) -> bool:
        """Put a new task into a queue; its id must be free. Tell whether the agenda changed."""
        queue.add(task)
        for tell in self._told_of_tasks:
            tell(queue, task)
        if queue.state is not QueueState.RUNNING or queue.blocked_until == inf:
            return False
        return self.agenda.note(queue, max(task.schedule_at, queue.blocked_until))

    def remove(self, queue: Queue, task: Task, *, reason: str, now: float) -> None:
        """End a task for the reason given, and reserve its id."""
        windows = self.windows
        until = now + (windows.generated_task_s if task.generated else windows.task_s)
        for witness in self._witnesses:
            witness.task_removed(queue, task, reason=reason, reserved_until=until, now=now)
        queue.remove(task, reserved_until=until)

    def force(self, queue: Queue, task: Task, *, now: float) -> Attempt:
        """Dispatch a task now, whatever the limits."""
        attempt = dispatching.force(queue, task, now=now)
        self._tell_of_start(queue, attempt)
        return attempt

    def take_due(self, *, now: float, grain_s: float = 0.0) -> Iterator[tuple[Queue, Attempt]]:
        """Start the attempts that are due, and note when each queue has to be seen again.

        `grain_s` is the least span between two looks at a queue that waits for its rate;
        tokens gather meanwhile, so that the rate stays what it is.
        """
        for queue in self.agenda.due(now=now):
            for attempt in dispatching.take_due(queue, now=now):
                self._tell_of_start(queue, attempt)
                yield queue, attempt
            self._note(queue, not_before=now + grain_s)

    def settle(self, queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float) -> None:
        """Take in an attempt's end: retry, or remove the task."""
        task = attempt.task
        over = dispatching.settle(queue, attempt, outcome, now=now)
        if not task.is_gone:
            for witness in self._witnesses:
                witness.attempt_ended(queue, attempt, outcome, now=now)
        if over:
            reason = "succeeded" if outcome.is_success else "given up"
            self.remove(queue, task, reason=reason, now=now)
        self._note(queue)

    def expire(self, *, now: float) -> None:
        """Drop what has outlived its time: tasks, and reservations of names."""
        for queue in self.queues.values():
            for task in queue.expired(now=now):
                self.remove(queue, task, reason="expired", now=now)
            queue.names.forget(now=now)
        for name in [name for name, until in self.graves.items() if until <= now]:
            del self.graves[name]

    def _note(self, queue: Queue, *, not_before: float = -inf) -> None:
        at = dispatching.next_wake(queue)
        if at < inf:
            self.agenda.note(queue, max(at, not_before))

    def _tell_of(self, queue: Queue) -> None:
        for witness in self._witnesses:
            witness.queue_changed(queue)

    def _tell_of_start(self, queue: Queue, attempt: Attempt) -> None:
        for witness in self._witnesses:
            witness.attempt_started(queue, attempt)
