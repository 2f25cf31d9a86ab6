"""The names of a queue's tasks: those in use, and those not yet free again."""

from collections import deque

from injector.emulator.state.task import Task


class Names:
    """Maps a task id to its task, or to the time until which it stays reserved.

    One look-up serves both questions of a create: is there such a task, or was there lately?
    """

    __slots__ = ("_entries", "_reserved", "live")

    def __init__(self) -> None:
        self._entries: dict[str, Task | float] = {}
        self._reserved: deque[tuple[float, str]] = deque()
        self.live = 0

    def task(self, task_id: str) -> Task | None:
        """Return the task of this id, or None if there is none now."""
        entry = self._entries.get(task_id)
        return entry if isinstance(entry, Task) else None

    def is_taken(self, task_id: str, *, now: float) -> bool:
        """Tell whether a new task may not have this id."""
        entry = self._entries.get(task_id)
        return entry is not None and (isinstance(entry, Task) or entry > now)

    def was_there(self, task_id: str, *, now: float) -> bool:
        """Tell whether a task of this id existed recently, and is gone."""
        entry = self._entries.get(task_id)
        return entry is not None and not isinstance(entry, Task) and entry > now

    def add(self, task: Task) -> None:
        """Give the id to the task."""
        self._entries[task.id] = task
        self.live += 1

    def free(self, task_id: str, *, until: float) -> None:
        """Take the id from its task, and reserve it until then."""
        self._entries[task_id] = until
        self._reserved.append((until, task_id))
        self.live -= 1

    def reserved(self, *, now: float) -> list[tuple[str, float]]:
        """Return the ids that are reserved, and until when."""
        return [(i, until) for until, i in self._reserved if until > now]

    def forget(self, *, now: float) -> None:
        """Drop reservations that are over, in the order in which they were made."""
        reserved = self._reserved
        while reserved and reserved[0][0] <= now:
            until, task_id = reserved.popleft()
            if self._entries.get(task_id) == until:
                del self._entries[task_id]
