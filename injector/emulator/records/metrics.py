"""What the service measures of queues and calls, under the names of Cloud Monitoring."""

import re
from collections import Counter
from functools import lru_cache
from urllib.parse import unquote

from injector.emulator.api.methods import TASKS
from injector.emulator.api.views import rpc_code
from injector.emulator.records.series import Series, Spread
from injector.emulator.rpc import Code
from injector.emulator.state.queue import Queue
from injector.emulator.state.registry import Witness
from injector.emulator.state.task import Attempt, Outcome

_PUBSUB = "/google.pubsub.v1."


class Metrics(Witness):
    """Attempts by queue and code, how late they left, calls by method and code, depths.

    Labels are (queue, response code) of attempts, (queue,) of delays in milliseconds and of
    depths, and (method, project, location, code) of calls.
    """

    def __init__(self) -> None:
        self.attempts = Series()
        self.delays_ms = Series()
        self.calls = Series()
        self.depths = Series()
        self._ended: Counter[tuple[str, Code, str]] = Counter()

    def attempt_started(self, queue: Queue, attempt: Attempt) -> None:
        """Measure how late an attempt left."""
        if attempt.forced:
            return
        late_s = max(0.0, attempt.dispatch_at - attempt.schedule_at)
        self._measure(queue.name, late_s * 1000, attempt.dispatch_at)

    def attempt_ended(
        self, queue: Queue, attempt: Attempt, outcome: Outcome, *, now: float
    ) -> None:
        """Count an attempt."""
        del attempt
        self.attempts.count((queue.name, rpc_code(outcome).name), now=now)

    def call_ended(self, method: str, code: Code, routing: str) -> None:
        """Count a call; `routing` is what its client sent for routing."""
        self._ended[method, code, routing] += 1

    def gather(self, *, now: float) -> None:
        """Put the calls counted lately into the running minute, and drop what is a day old.

        They are gathered when somebody looks, and every few seconds: a call has no time for it.
        """
        for series in (self.attempts, self.delays_ms, self.calls, self.depths):
            series.forget(now=now)
        ended, self._ended = self._ended, Counter()
        for (method, code, routing), number in ended.items():
            if method.startswith((TASKS, _PUBSUB)):
                self.calls.count((*_call(method, routing), code.name), now=now, number=number)

    def measure_depth(self, queue: Queue, *, now: float) -> None:
        """Take a sample of a queue's depth."""
        self.depths.point((queue.name,), now=now).number = queue.depth

    def clear(self) -> None:
        """Forget everything."""
        for series in (self.attempts, self.delays_ms, self.calls, self.depths):
            series.clear()
        self._ended.clear()

    def _measure(self, queue: str, late_ms: float, now: float) -> None:
        point = self.delays_ms.point((queue,), now=now)
        point.number += 1
        point.spread = point.spread or Spread()
        point.spread.add(late_ms)


@lru_cache(maxsize=4096)
def _call(method: str, routing: str) -> tuple[str, str, str]:
    """Return a call's method, project and location; the latter empty if it did not tell them."""
    found = _LOCATION.search(unquote(routing))
    project, location = (found[1], found[2]) if found else ("", "")
    return method.removeprefix("/").replace("/", "."), project, location


_LOCATION = re.compile(r"projects/([^/]+)/locations/([^/&]+)")
