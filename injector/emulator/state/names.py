"""The names of a queue's tasks: those in use, and those not yet free again."""

from heapq import heappop, heappush

from injector.emulator.state.task import Task


class Names:
    """Maps a task id to its task, or to the time until which it stays reserved.

    One look-up serves both questions of a create: is there such a task, or was there lately?
    """

    __slots__ = ("_entries", "_reserved", "live")

    def __init__(self) -> None:
        self._entries: dict[str, Task | float] = {}
        self._reserved: list[tuple[float, str]] = []
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
        self.reserve(task_id, until=until)
        self.live -= 1

    def reserve(self, task_id: str, *, until: float) -> None:
        """Let no task have the id until then."""
        self._entries[task_id] = until
        heappush(self._reserved, (until, task_id))

    def forget(self, *, now: float) -> None:
        """Drop the reservations that are over."""
        reserved = self._reserved
        while reserved and reserved[0][0] <= now:
            until, task_id = heappop(reserved)
            if self._entries.get(task_id) == until:
                del self._entries[task_id]
