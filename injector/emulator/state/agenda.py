"""Which queue has to be looked at, and when."""

from heapq import heappop, heappush
from math import inf

from injector.emulator.state.queue import Queue


class Agenda:
    """Keeps one valid date per queue: the next time at which it may have a task to dispatch."""

    __slots__ = ("_count", "_dates")

    def __init__(self) -> None:
        self._dates: list[tuple[float, int, Queue]] = []
        self._count = 0

    def note(self, queue: Queue, at: float) -> bool:
        """Look at the queue at that time, or earlier if noted so; tell whether it is news."""
        if at >= queue.wake_at:
            return False
        queue.wake_at = at
        self._count += 1
        heappush(self._dates, (at, self._count, queue))
        return True

    def due(self, *, now: float) -> list[Queue]:
        """Take out the queues whose time has come."""
        found = []
        dates = self._dates
        while dates and dates[0][0] <= now:
            at, _, queue = heappop(dates)
            if queue.wake_at == at:
                queue.wake_at = inf
                found.append(queue)
        return found

    def next_at(self) -> float:
        """Return the earliest date; infinite if there is none."""
        dates = self._dates
        while dates and dates[0][2].wake_at != dates[0][0]:
            heappop(dates)
        return dates[0][0] if dates else inf
