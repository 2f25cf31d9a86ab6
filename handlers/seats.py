"""How many fan-outs a process runs at once, so that threads are left for every other route."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from injector.errors import Retryable
from injector.pacing.limiter import WAITING_FOR_EACH


class Seats:
    """A process's seats for fan-outs, and as many places to wait for one.

    Who finds neither is sent away at once, and so is, after `patience_s`, who has waited for
    nothing: a thread that waits is one that answers nobody.
    """

    def __init__(self, seats: int, *, patience_s: float) -> None:
        self._seats = BoundedSemaphore(seats)
        self._places = BoundedSemaphore(seats * (1 + WAITING_FOR_EACH))
        self._patience_s = patience_s

    @contextmanager
    def seat(self) -> Iterator[None]:
        """Hold a seat; raises Retryable when none is to be had."""
        if not self._places.acquire(blocking=False):
            raise Retryable("this process fans out as many chunks as it can, and more wait")
        try:
            yield from self._seated()
        finally:
            self._places.release()

    def _seated(self) -> Iterator[None]:
        if not self._seats.acquire(timeout=self._patience_s):
            raise Retryable(f"no fan-out ended within {self._patience_s:g} s")
        try:
            yield
        finally:
            self._seats.release()
