"""The loop that sends what is due, and takes in what became of it."""

import asyncio
from contextlib import suppress
from email.utils import parsedate_to_datetime
from math import inf
from typing import Protocol

from injector.emulator.api.service import Service
from injector.emulator.dispatch.requests import Requests
from injector.emulator.state.queue import Queue
from injector.emulator.state.task import Attempt, Outcome
from injector.emulator.timeline import Timeline
from injector.emulator.transport.attempts import Answer, End
from injector.emulator.transport.attempts import Attempt as Request

_GRAIN_S = 0.004
"""The least real time between two looks at a queue that waits for its rate."""
_LONGEST_SLEEP_S = 3600.0
_LONGEST_RETRY_AFTER_S = 3600.0


class Deliver(Protocol):
    """Sends an attempt of a task to its target; whatever happens is an Answer."""

    async def __call__(self, task: str, request: Request) -> Answer:
        """Send it and wait for its end."""


class Dispatcher:
    """Carries attempts out; what to attempt and when, the registry decides.

    It sleeps until the agenda's next date, and steps whenever it is woken.
    """

    def __init__(
        self, service: Service, clock: Timeline, deliver: Deliver, requests: Requests
    ) -> None:
        self._service = service
        self._clock = clock
        self._deliver = deliver
        self._requests = requests
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._woken = False
        self._running: set[asyncio.Task[None]] = set()
        clock.watch(self.wake)

    @property
    def in_flight(self) -> int:
        """Return how many attempts are on their way."""
        return len(self._running)

    def wake(self) -> None:
        """Look at the agenda as soon as the loop gets to it."""
        if not self._woken:
            self._woken = True
            self._loop.call_soon(self._step)

    def start(self, queue: Queue, attempt: Attempt) -> None:
        """Carry out an attempt."""
        task = self._loop.create_task(self._carry_out(queue, attempt))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def stop(self) -> None:
        """Cut off what is in flight; its tasks keep waiting for their attempts' ends."""
        if self._timer is not None:
            self._timer.cancel()
        for task in list(self._running):
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _step(self) -> None:
        self._woken = False
        now = self._clock.now()
        self._service.operations.finish_due(now=now)
        grain_s = _GRAIN_S * self._clock.speed
        for queue, attempt in self._service.registry.take_due(now=now, grain_s=grain_s):
            self.start(queue, attempt)
        self._sleep()

    def _sleep(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        next_at = min(self._service.registry.agenda.next_at(), self._service.operations.next_at())
        if next_at == inf:
            return
        real_s = self._clock.real_s(next_at)
        if real_s <= 0:
            self.wake()
        elif real_s < inf:
            self._timer = self._loop.call_later(min(real_s, _LONGEST_SLEEP_S), self.wake)

    async def _carry_out(self, queue: Queue, attempt: Attempt) -> None:
        config = self._service.configs.get(queue.name)
        if config is None or attempt.task.is_gone:
            answer = Answer(End.BROKEN, reason="the queue or the task was deleted")
        else:
            request = self._requests.build(attempt, config, now=self._clock.now())
            answer = await self._deliver(queue.prefix + attempt.task.id, request)
        now = self._clock.now()
        self._service.registry.settle(queue, attempt, _outcome(answer, now=now), now=now)
        self.wake()


def _outcome(answer: Answer, *, now: float) -> Outcome:
    if answer.end is not End.ANSWERED:
        return Outcome(timed_out=answer.end is End.TIMED_OUT)
    retry_after = answer.header("Retry-After") or ""
    return Outcome(answer.status, retry_after_s=_seconds(retry_after, now=now))


def _seconds(retry_after: str, *, now: float) -> float:
    """Return how long a Retry-After asks to wait: seconds, or until a date."""
    wait_s = 0.0
    if retry_after.strip().isdecimal():
        wait_s = float(retry_after)
    elif retry_after:
        with suppress(ValueError):
            until = parsedate_to_datetime(retry_after)
            wait_s = until.timestamp() - now
    return min(max(0.0, wait_s), _LONGEST_RETRY_AFTER_S)
