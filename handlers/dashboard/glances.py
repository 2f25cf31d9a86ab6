"""Many dashboards looking at once, served so that they cannot keep the workers from their work.

A page asks every few seconds and each answer takes milliseconds. Server-sent events would hold
one of gunicorn's threads for as long as a page is open: sixteen open pages, and nothing is left
for `/inject`. What remains is a crowd that asks at the same moment, and it is bounded here.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import BoundedSemaphore, Lock

from injector.errors import Retryable

FRESH_S = 1.0
USABLE_S = 10.0
KEPT = 64
AGAIN_S = 2.0


@dataclass(frozen=True, slots=True)
class Glance:
    """What was answered, and when by a clock that only grows."""

    body: str
    made_at: float


class Glances:
    """Answers that all who look within a second share; `at_once` threads at most make them."""

    def __init__(self, at_once: int) -> None:
        self._making = BoundedSemaphore(at_once)
        self._lock = Lock()
        self._kept: OrderedDict[str, Glance] = OrderedDict()

    def see(
        self, key: str, make: Callable[[], str], *, now: float, fresh_s: float = FRESH_S
    ) -> str:
        """Return the answer for the key, made now or a moment ago.

        Nobody waits: with all makers busy it is one that is a little older, and without one it
        raises Retryable.
        """
        kept = self._found(key)
        if kept and now - kept.made_at < fresh_s:
            return kept.body
        if not self._making.acquire(blocking=False):
            return _older(kept, now=now, usable_s=fresh_s + USABLE_S)
        try:
            body = make()
        finally:
            self._making.release()
        self._keep(key, Glance(body, now))
        return body

    def _found(self, key: str) -> Glance | None:
        with self._lock:
            return self._kept.get(key)

    def _keep(self, key: str, glance: Glance) -> None:
        with self._lock:
            self._kept[key] = glance
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)


def _older(kept: Glance | None, *, now: float, usable_s: float) -> str:
    if kept is None or now - kept.made_at > usable_s:
        raise Retryable("many look at the dashboard right now", retry_after_s=AGAIN_S)
    return kept.body
