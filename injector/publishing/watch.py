"""Who looks after a publisher's batches once the delay has passed."""

import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol


class Watched(Protocol):
    """A batch on its way."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""

    def slow(self, *, now: float) -> float | None:
        """Deal with its slowness; return when to look again, None for not at all."""


class Watch:
    """Tells batches that they are slow, each so many seconds after it was sent.

    All have the same delay, so they fall due in their order. One thread waits for the first of
    them, and none once there are none: a batch that is not slow costs a place in the line.
    """

    def __init__(self, delay_s: float, clock: Callable[[], float]) -> None:
        self._delay_s = delay_s
        self._clock = clock
        self._line: deque[tuple[float, Watched]] = deque()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, batch: Watched) -> None:
        """Watch a batch that is being sent."""
        self._put(self._clock() + self._delay_s, batch)

    def tidy(self) -> None:
        """Forget the batches that have ended, and so wait for nothing if all have."""
        with self._changed:
            self._line = deque(place for place in self._line if not place[1].over)
            self._changed.notify()

    def _put(self, due: float, batch: Watched) -> None:
        with self._changed:
            self._line.append((due, batch))
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="Thread-HedgeWatch", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while batch := self._next():
            again = batch.slow(now=self._clock())
            if again is not None:
                self._put(again, batch)

    def _next(self) -> Watched | None:
        """Wait for a batch that is due; None once there are no more."""
        with self._changed:
            while self._line:
                due, batch = self._line[0]
                left = due - self._clock()
                if batch.over or left <= 0:
                    self._line.popleft()
                    if not batch.over:
                        return batch
                else:
                    self._changed.wait(left)
            self._thread = None
            return None
