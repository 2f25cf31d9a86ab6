"""Queues of the emulator whose troubles are staged: tasks, target and hand-made changes by plan.

Everything is the emulator's own in virtual time; only the target is played, so that it answers
as staged, and takes as long.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import isawaitable
from itertools import count
from math import inf
from random import Random

from injector.delivery.cloud_tasks import routing
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.queue_admin import CloudTasksAdmin
from injector.emulator.api import messages
from injector.emulator.assembly import assemble
from injector.emulator.faults.plan import Fault
from injector.emulator.options import Options
from injector.emulator.parts import Parts
from injector.emulator.rpc import RpcError
from injector.emulator.startup import open_queues
from injector.emulator.state.dynamics import FAITHFUL, Dynamics
from injector.emulator.state.overload import Overload
from injector.emulator.state.queue import QueueState
from injector.emulator.state.task import Outcome
from injector.queues.diagnosis import Cause
from injector.queues.gathering import Sources
from tests.pace.direct_connection import DirectConnection

START = 1_800_000_000.0
MINUTE_S = 60.0
PARENT = "projects/p/locations/us-central1/queues/"
CREATE = "/google.cloud.tasks.v2.CloudTasks/CreateTask"
MEASURED_EACH_S = 10


@dataclass(frozen=True)
class Set:
    """How a queue is set: rate and concurrency, and the share of its tasks that is logged."""

    rate: float = 10.0
    concurrency: int = 1000
    logged: float = 0.3

    def written(self, name: str) -> str:
        limits = (
            f"{{maxDispatchesPerSecond: {self.rate}, maxConcurrentDispatches: {self.concurrency}}}"
        )
        logs = f", stackdriverLoggingConfig: {{samplingRatio: {self.logged}}}"
        return f"{PARENT}{name}={{rateLimits: {limits}{logs if self.logged else ''}}}"


@dataclass(frozen=True)
class Come:
    """Tasks that come at a rate from one minute to another, each due `ahead` minutes later."""

    rate: float
    since: float = 0.0
    until: float = inf
    queue: str = "q"
    ahead: float = 0.0


def burst(tasks: int, at: float = 0.0, queue: str = "q") -> Come:
    """Let tasks come all within a second."""
    return Come(tasks, at, at + 1 / MINUTE_S, queue)


@dataclass(frozen=True)
class Answer:
    """How the target answers a share of attempts in some minutes; status None is a time-out."""

    status: int | None = 200
    share: float = 1.0
    since: float = 0.0
    until: float = inf
    seconds: float = 0.05
    queue: str = "q"


@dataclass(frozen=True)
class Do:
    """What somebody does to a queue at a minute: pause, resume or disable."""

    what: str
    at: float = 0.0
    queue: str = "q"


@dataclass(frozen=True)
class Staged:
    """A staged case: what is wrong, and what is to be seen of it at minute `asked`."""

    name: str
    causes: frozenset[Cause]
    come: tuple[Come, ...]
    asked: float
    answers: tuple[Answer, ...] = (Answer(),)
    queues: Mapping[str, Set] = field(default_factory=lambda: {"q": Set()})
    done: tuple[Do, ...] = ()
    faults: tuple[Fault, ...] = ()
    dynamics: Dynamics = FAITHFUL
    overload: Overload | None = None


@dataclass
class StagedQueues:
    """A staged case at work."""

    case: Staged
    parts: Parts
    connection: DirectConnection
    _chance: Random = field(default_factory=lambda: Random(1))
    _ends: list[tuple[float, int, object, object, Outcome]] = field(default_factory=list)
    _number: Iterator[int] = field(default_factory=count)
    _owed: Counter[Come] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        creator = make_creator(self.connection, Delivery(mode="single", throttle=None))
        admin = CloudTasksAdmin(self.connection, creator)
        self.sources = Sources(admin, self.connection, self.connection)
        self.names = [PARENT + name for name in self.case.queues]
        self.parts.plan.set(self.case.faults)

    @property
    def now(self) -> float:
        return self.parts.clock.now()

    @property
    def minute(self) -> float:
        return (self.now - START) / MINUTE_S

    def run(self) -> None:
        """Let everything happen until the case is asked about."""
        self.run_until(self.case.asked)

    def run_until(self, minute: float) -> None:
        """Go on to that minute, second by second."""
        while self.minute < minute - 1e-9:
            second = round(self.now - START)
            if second % MEASURED_EACH_S == 0:
                self._measure()
            self._do(second)
            self._create(second)
            self._dispatch_until(START + second + 1)
        self._measure()

    def _measure(self) -> None:
        """Measure what the emulator's process measures each ten seconds."""
        for queue in self.parts.service.registry.queues.values():
            self.parts.metrics.measure_depth(queue, now=self.now)
        self.parts.metrics.gather(now=self.now)

    def _do(self, second: int) -> None:
        registry = self.parts.service.registry
        for act in self.case.done:
            if round(act.at * MINUTE_S) == second:
                queue = registry.queues[PARENT + act.queue]
                _ACTS[act.what](registry, queue, self.now)

    def _create(self, second: int) -> None:
        for come in self.case.come:
            if come.since <= second / MINUTE_S < come.until - 1e-9:
                self._owed[come] += come.rate
                while self._owed[come] >= 1:
                    self._owed[come] -= 1
                    self._create_one(come)

    def _create_one(self, come: Come) -> None:
        name = PARENT + come.queue
        request = messages.CreateTaskRequest(parent=name)
        request.task.http_request.url = "http://target.test/x"
        request.task.schedule_time.FromNanoseconds(round((self.now + 60 * come.ahead) * 1e9))
        about = dict(routing("parent", name))
        try:
            answer = self.parts.handle(CREATE, request.SerializeToString(), about)
            if isawaitable(answer):
                self.connection.loop.run_until_complete(answer)
        except RpcError:
            return

    def _dispatch_until(self, at: float) -> None:
        registry = self.parts.service.registry
        while (following := self._next_at()) < at:
            self.parts.clock.advance(max(0.0, following - self.now))
            while self._ends and self._ends[0][0] <= self.now:
                _, _, queue, attempt, outcome = heapq.heappop(self._ends)
                registry.settle(queue, attempt, outcome, now=self.now)
            for queue, attempt in list(registry.take_due(now=self.now)):
                outcome, seconds = self._answer(queue.id)
                entry = (self.now + seconds, next(self._number), queue, attempt, outcome)
                heapq.heappush(self._ends, entry)
        self.parts.clock.advance(at - self.now)

    def _next_at(self) -> float:
        ends = self._ends[0][0] if self._ends else inf
        return min(self.parts.service.registry.agenda.next_at(), ends)

    def _answer(self, queue: str) -> tuple[Outcome, float]:
        """Answer an attempt by the first entry that is meant; the last one is for all others."""
        entries = [each for each in self.case.answers if each.queue == queue]
        for answer in entries:
            meant = answer.since <= self.minute < answer.until
            if meant and self._chance.random() < answer.share:
                timed_out = answer.status is None
                return Outcome(answer.status, timed_out=timed_out), answer.seconds
        return Outcome(200), entries[-1].seconds if entries else 0.05


_ACTS: Mapping[str, Callable[..., None]] = {
    "pause": lambda registry, queue, _: registry.pause(queue),
    "resume": lambda registry, queue, now: registry.resume(queue, now=now),
    "disable": lambda _, queue, __: setattr(queue, "state", QueueState.DISABLED),
}


@contextmanager
def staged(case: Staged) -> Iterator[StagedQueues]:
    """Put the queues of a case together, at its minute 0."""
    options = Options(
        frozen=True,
        origin=START,
        dynamics=case.dynamics,
        overload=case.overload,
        seed=1,
        queues=tuple(settings.written(name) for name, settings in case.queues.items()),
    )
    parts = assemble(options)
    open_queues(parts.service, options)
    connection = DirectConnection(parts.handle)
    try:
        yield StagedQueues(case, parts, connection)
    finally:
        connection.close()
