"""A whole run in virtual time: controller, feed, fan-out, delivery and ledger are the product's,
queues and dispatch the emulator's, and an hour takes seconds.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from math import inf

from injector.control.feed import Call, Feeder
from injector.control.pinning import Pinned
from injector.control.tick import Ticker
from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Create, Queue, TaskTemplate
from injector.delivery.queue_admin import CloudTasksAdmin
from injector.emulator.api import messages
from injector.emulator.assembly import assemble
from injector.emulator.faults.plan import Fault
from injector.emulator.options import Options
from injector.emulator.parts import Parts
from injector.emulator.startup import open_queues
from injector.emulator.state.dynamics import OFF
from injector.emulator.state.task import Outcome
from injector.errors import InjectorError
from injector.fan_out import OpenJob, Verdict, fan_out
from injector.groups import Group
from injector.injector_task import parse_injector_task
from injector.layout import Layout
from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import NewJob
from injector.manifest import Record, compile_request, load_manifest
from injector.pacing.ramp import CHUNK, Ramp
from injector.queues.monitoring import Monitoring
from injector.staging.chunk import Chunk
from tests.pace.direct_connection import DirectConnection
from tests.pace.law import excess

START = 1_800_000_000.0
MINUTE_S = 60.0
SERVICE = "http://injector.test"
TARGET_S = 0.05
FAN_OUT_S = 0.05
QUEUES = "projects/p/locations/us-central1/queues"
MANIFEST = """
job: JOB
group: pace
records: users.jsonl
identity: {field: n}
task: {http: {url: "http://target.test/{n}"}}
"""


@dataclass
class WorldClock:
    """The time as one process reads it: `skew_s` is how wrong its clock is set."""

    world: "VirtualWorld"
    skew_s: float = 0.0

    def now(self) -> float:
        return self.world.now + self.skew_s

    def monotonic(self) -> float:
        return self.world.now - START

    def sleep(self, seconds: float) -> None:
        self.world.run_until(self.world.now + seconds)


@dataclass
class FanOutClock(WorldClock):
    """Counts the time that calls take on their loop as well."""

    def monotonic(self) -> float:
        return super().monotonic() + self.world.connection.elapsed_s


@dataclass
class VirtualWorld:
    """The emulator, the product around it, and what happens at which time.

    A job's chunks have `per_chunk` records each. `target` gives the status of an attempt at the
    target, by its time.
    """

    parts: Parts
    connection: DirectConnection
    ledger: Ledger
    group: Group
    per_chunk: int = 4
    manifest: str = MANIFEST
    delivery: Delivery = field(default_factory=lambda: Delivery(mode="single"))
    target: Callable[[float], int] = lambda _: 200
    delivered: Counter[str] = field(default_factory=Counter)
    begun: Counter[str] = field(default_factory=Counter)
    _ends: list[tuple[float, int, object, object, Outcome]] = field(default_factory=list)
    _number: Iterator[int] = field(default_factory=count)

    def __post_init__(self) -> None:
        self.clock = WorldClock(self)
        self.start_afresh()
        feeding = make_creator(self.connection, Delivery(mode="single", throttle=None))
        self.admin = CloudTasksAdmin(self.connection, feeding)
        self.renderers, self.pinned = {}, {}

    def start_afresh(self) -> None:
        """Fan out in a process that has called no queue yet."""
        self.creator = make_creator(self.connection, self.delivery, clock=self.clock)

    @property
    def now(self) -> float:
        return self.parts.clock.now()

    @property
    def minutes(self) -> float:
        return (self.now - START) / MINUTE_S

    def submit(self, chunks: int, job: str = "job-1") -> None:
        """Register a job; the records of its chunks are made when they are read."""
        new = NewJob(job, self.group.name, "{}", "memory:", chunks * self.per_chunk, chunks, "d")
        self.ledger.jobs.register(new, now=self.now)
        manifest = load_manifest(self.manifest.replace("JOB", job), source="test")
        pinned = Pinned(lambda: self.ledger.jobs.pins(job), Layout(self.group.queues))
        self.renderers[job] = compile_request(manifest, self.group.queues, layout_of=pinned.of)
        self.pinned[job] = pinned

    def configure(self, queues: Sequence[str]) -> None:
        """Let the controller's configuration name these queues, and make those that are new."""
        for name in queues:
            self.admin.create_queue(Queue(name))
        self.group = replace(self.group, queues=tuple(queues))

    def ticker(self, clock: WorldClock | None = None) -> Ticker:
        call = Call(f"{SERVICE}/inject", TaskTemplate())
        return Ticker(
            self.ledger,
            self.admin,
            Feeder(self.ledger.jobs, self.admin, call),
            {self.group.name: self.group},
            clock or self.clock,
            watcher=Monitoring(self.connection),
        )

    def tick(self, clock: WorldClock | None = None):
        """Run the controller once; return what it did for the group, None if it had no turn."""
        ticks = self.ticker(clock).tick("me", time_left=lambda: 45.0)
        return ticks[0] if ticks else None

    def run(self, minutes: float, clock: WorldClock | None = None) -> list[object]:
        """Tick each minute for so long, and return the ticks."""
        ticks = []
        until = self.now + minutes * MINUTE_S
        while self.now < until - 1e-6:
            following = self.now + MINUTE_S
            ticks.append(self.tick(clock))
            self.run_until(min(following, until))
        return ticks

    def run_until(self, at: float) -> None:
        """Let dispatches and their ends happen as they fall due."""
        while (following := self._next_at()) <= at:
            self._advance_to(following)
            self._settle_due()
            for queue, attempt in list(self.parts.service.registry.take_due(now=self.now)):
                self._attempt(queue, attempt)
        self._advance_to(at)

    def _next_at(self) -> float:
        ends = self._ends[0][0] if self._ends else inf
        return min(self.parts.service.registry.agenda.next_at(), ends)

    def _advance_to(self, at: float) -> None:
        self.parts.clock.advance(max(0.0, at - self.now))

    def _settle_due(self) -> None:
        registry = self.parts.service.registry
        while self._ends and self._ends[0][0] <= self.now:
            _, _, queue, attempt, outcome = heapq.heappop(self._ends)
            registry.settle(queue, attempt, outcome, now=self.now)

    def _attempt(self, queue, attempt) -> None:
        """Carry an attempt out at once; its end comes when it would have."""
        self.begun[queue.name] += attempt.number == 0
        request = messages.Task.FromString(attempt.task.form).http_request
        if request.url.startswith(SERVICE):
            outcome, seconds = self._fan_out(request.body)
        else:
            outcome, seconds = self._reach(request.url), TARGET_S
        entry = (self.now + seconds, next(self._number), queue, attempt, outcome)
        heapq.heappush(self._ends, entry)

    def _reach(self, url: str) -> Outcome:
        status = self.target(self.now)
        if status == 200:
            self.delivered[url.rpartition("/")[2]] += 1
        return Outcome(status)

    def _fan_out(self, body: bytes) -> tuple[Outcome, float]:
        began = self.connection.elapsed_s
        clock = FanOutClock(self)
        try:
            answer = fan_out(
                parse_injector_task(body),
                ledger=self.ledger,
                open_job=self._open_job,
                clock=clock,
                time_left=lambda: 45.0 - (self.connection.elapsed_s - began),
            )
        except InjectorError:
            return Outcome(503, retry_after_s=5.0), FAN_OUT_S
        seconds = self.connection.elapsed_s - began + FAN_OUT_S
        if answer.verdict is Verdict.OPEN:
            return Outcome(503, retry_after_s=5.0), seconds
        return Outcome(200), seconds

    def finish(self, within_min: int = 120) -> None:
        """Run until the job is finished and every task is done."""
        for _ in range(within_min):
            self.run(1)
            depth = sum(queue.depth for queue in self.parts.service.registry.queues.values())
            if self.ledger.jobs.get("job-1").finished_at and not depth:
                return
        raise AssertionError(f"not finished within {within_min} min: {self.totals}")

    def creates(self, chunk: int, job: str = "job-1") -> list[Create]:
        """Return what a fan-out of the chunk would create."""
        if job not in self.renderers:
            self.submit(chunk + 1, job)
        renderer = self.renderers[job]
        return [renderer.create(record, now=self.now) for record in self._read(chunk).records]

    def _open_job(self, job) -> OpenJob:
        return OpenJob(
            self._read,
            self.renderers[job.id],
            self.creator,
            inf,
            self.pinned[job.id].fresh_of,
            len(self.group.queues),
        )

    def _read(self, number: int) -> Chunk:
        """Make a chunk's records; their places are those of a source whose chunks are full."""
        first, place = number * self.per_chunk, number * CHUNK
        records = (
            Record(place + n, first + n + 1, b'{"n":%d}' % (first + n))
            for n in range(self.per_chunk)
        )
        return Chunk(number, tuple(records))

    def fault(self, *faults: Fault) -> None:
        """Put faults in force, in place of any others."""
        self.parts.plan.set(faults)

    @property
    def totals(self):
        return self.ledger.jobs.totals("job-1")

    @property
    def rates(self) -> list[float]:
        """Return the rates that were decided, each once as it changed."""
        decisions = self.ledger.groups.decisions(self.group.name, limit=1000)[::-1]
        rates = [decision.rate for decision in decisions]
        return [rate for before, rate in zip([None, *rates], rates, strict=False) if rate != before]

    @property
    def reasons(self) -> list[str]:
        decisions = self.ledger.groups.decisions(self.group.name, limit=1000)[::-1]
        return [f"{decision.action}: {decision.reason}" for decision in decisions]

    def dispatched(self, queues: Sequence[str] = ()) -> list[int]:
        """Return the queues' dispatches by minute, as the emulator measured them.

        Without any named, those of the injector queues.
        """
        by_minute = Counter()
        for queue in queues or self.group.injector_queues:
            for point in self.parts.metrics.delays_ms.between((queue,), START, self.now + MINUTE_S):
                by_minute[point.minute - int(START // MINUTE_S)] += point.number
        return [by_minute[minute] for minute in range(int(self.minutes) + 1)]

    def excess(self) -> float:
        """Return by how much the dispatches broke the law of the ramp."""
        return excess(self.dispatched(), first_rate=self.group.ramp.initial_rate)

    def calls(self, method: str) -> Counter[str]:
        """Return how calls of a method have ended, by code, as the emulator counted them."""
        self.parts.metrics.gather(now=self.now)
        totals = self.parts.metrics.calls.totals()
        found = Counter()
        for (name, _, _, code), number in totals.items():
            if name.endswith(f".{method}"):
                found[code] += number
        return found

    def tasks_made(self) -> int:
        """Return how many tasks of the group's queues were ever attempted for the first time."""
        return sum(self.begun[name] for name in self.group.queues)


@contextmanager
def virtual_world(
    *, ramp: Ramp, injector_queues: int = 1, queues: int = 4, seed: int = 0, **options: object
) -> Iterator[VirtualWorld]:
    """Put a world together; the emulator has no dynamics of its own unless asked for."""
    dynamics = options.pop("dynamics", OFF)
    group = Group(
        "pace",
        tuple(f"{QUEUES}/injector-{number}" for number in range(injector_queues)),
        tuple(f"{QUEUES}/pace-{number:02d}" for number in range(queues)),
        None,
        ramp,
    )
    started = Options(
        frozen=True,
        origin=START,
        dynamics=dynamics,
        seed=seed,
        queues=(*group.injector_queues, *group.queues),
    )
    parts = assemble(started)
    open_queues(parts.service, started)
    ledger = open_ledger("sqlite://")
    connection = DirectConnection(parts.handle)
    try:
        yield VirtualWorld(parts, connection, ledger, group, **options)
    finally:
        connection.close()
        ledger.close()
