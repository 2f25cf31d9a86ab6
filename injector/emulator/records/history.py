"""What became of each task: its attempts, and its end."""

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from itertools import count, islice

from injector.emulator.state.queue import Queue
from injector.emulator.state.registry import Witness
from injector.emulator.state.task import Attempt, Outcome, Task

_MOST_ATTEMPTS = 100
_MOST_FINISHED = 10_000
_MOST_TRIED = 10_000
_MOST_KEPT = 100_000


@dataclass(frozen=True, slots=True)
class Tried:
    """One attempt that has ended; `status` is None when no answer came."""

    number: int
    schedule_at: float
    dispatch_at: float
    ended_at: float
    status: int | None
    timed_out: bool
    forced: bool


@dataclass(frozen=True, slots=True)
class Finished:
    """A task that is over: why and when, and its latest attempts."""

    name: str
    reason: str
    created_at: float
    ended_at: float
    attempts: tuple[Tried, ...]


@dataclass(slots=True)
class History(Witness):
    """The attempts of tasks that are there, and the tasks that ended last.

    It is bounded, however long a run lasts: 100 attempts of a task, of the 10,000 unfinished
    tasks that failed first most lately, and 10,000 finished tasks with 100,000 attempts in all.
    """

    finished: deque[Finished] = field(default_factory=deque)
    _attempts: OrderedDict[str, deque[Tried]] = field(default_factory=OrderedDict)
    _kept: int = 0
    _forgotten: int = 0

    def page(
        self, queue: str, *, limit: int, before: int | None
    ) -> tuple[list[Finished], int | None]:
        """Return `limit` tasks that ended last, newest first, and before which the next page is.

        Of one queue, or of all if it is empty. A place counts the tasks that have ended, so it
        means the same after more have; None is before the first page and behind the last.
        """
        there = len(self.finished)
        end = there if before is None else max(0, min(there, before - self._forgotten))
        older = islice(reversed(self.finished), there - end, None)
        places = count(self._forgotten + end - 1, -1)
        of = f"{queue}/tasks/" if queue else ""
        matching = ((at, one) for at, one in zip(places, older) if one.name.startswith(of))  # noqa: B905  (places have no end)
        found = list(islice(matching, limit + 1))
        following = found[limit - 1][0] if len(found) > limit else None
        return [one for _, one in found[:limit]], following

    def attempts(self, name: str) -> tuple[Tried, ...]:
        """Return the attempts of a task that have ended, oldest first, also of a finished one."""
        if name in self._attempts:
            return tuple(self._attempts[name])
        return next((done.attempts for done in reversed(self.finished) if done.name == name), ())

    def end_of(self, name: str) -> Finished | None:
        """Return how a task ended; None if it has not, or too long ago."""
        return next((done for done in reversed(self.finished) if done.name == name), None)

    def clear(self) -> None:
        """Forget everything."""
        self._forgotten += len(self.finished)
        self.finished.clear()
        self._attempts.clear()
        self._kept = 0

    def attempt_ended(
        self, queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float
    ) -> None:
        """Keep an attempt."""
        kept = self._attempts.setdefault(
            queue.prefix + attempt.task.id, deque(maxlen=_MOST_ATTEMPTS)
        )
        kept.append(
            Tried(
                attempt.number,
                attempt.schedule_at,
                attempt.dispatch_at,
                now,
                outcome.status,
                outcome.timed_out,
                attempt.forced,
            )
        )
        if len(self._attempts) > _MOST_TRIED:
            self._attempts.popitem(last=False)

    def task_removed(
        self, queue: Queue, task: Task, *, reason: str, reserved_until: float, now: float
    ) -> None:
        """Keep a task's end."""
        del reserved_until
        name = queue.prefix + task.id
        attempts = tuple(self._attempts.pop(name, ()))
        self._keep(Finished(name, reason, task.created_at, now, attempts))

    def queue_deleted(self, queue: Queue, *, reserved_until: float) -> None:
        """Drop the attempts of the queue's tasks."""
        del reserved_until
        for name in [name for name in self._attempts if name.startswith(queue.prefix)]:
            del self._attempts[name]

    def _keep(self, done: Finished) -> None:
        """Keep a finished task, in place of the oldest ones if there are too many."""
        finished = self.finished
        finished.append(done)
        self._kept += len(done.attempts)
        while len(finished) > _MOST_FINISHED or self._kept > _MOST_KEPT:
            self._kept -= len(finished.popleft().attempts)
            self._forgotten += 1
