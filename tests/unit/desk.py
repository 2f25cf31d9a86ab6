"""Operations on queues in memory: they can be killed after any change, and others interfere."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf

from injector.control.standing import Standing
from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import Queue, TaskTemplate
from injector.ledger import open_ledger
from injector.operations.kind import Ports, Target
from injector.operations.kinds import KINDS
from injector.operations.runner import Runner, drive
from injector.operations.steering import begin, new_operation
from injector.operations.values import Operation
from tests.moving_clock import MovingClock

PARENT = "projects/p/locations/us-central1/queues"
NAMES = tuple(f"{PARENT}/q-{number}" for number in range(4))
OWN = (5.0, 300.0, 400.0, 77.7)


class Killed(BaseException):
    """The end of a process, as far as one process can have it."""


class MortalQueues(MemoryQueues):
    """Queues whose user dies after `changes_left` more changes, done but not noted."""

    changes_left = inf
    changes = 0

    def _changed(self) -> None:
        self.changes += 1
        self.changes_left -= 1
        if self.changes_left <= 0:
            raise Killed

    def update_rate(self, queue, *, rate, concurrency=None):
        found = super().update_rate(queue, rate=rate, concurrency=concurrency)
        self._changed()
        return found

    def resume_queue(self, queue):
        found = super().resume_queue(queue)
        self._changed()
        return found

    def create_queue(self, queue):
        found = super().create_queue(queue)
        self._changed()
        return found

    def set_queue(self, queue, only):
        found = super().set_queue(queue, only)
        self._changed()
        return found

    def create_injector_tasks(self, creates, *, budget_s):
        found = super().create_injector_tasks(creates, budget_s=budget_s)
        self._changed()
        return found


@dataclass
class Busy:
    """A watcher of queues that dispatch all that they may; `failing` is the share that fails.

    Those that are `idle` have nothing to dispatch.
    """

    queues: MemoryQueues
    failing: float = 0.0
    idle: bool = False

    def look(self, queues, *, since, now):
        running = [self.queues.queues[name] for name in queues]
        counts = {q.name: round(q.rate * (now - since)) for q in running if q.state == "RUNNING"}
        if self.idle:
            counts = dict.fromkeys(counts, 0)
        whole = sum(counts.values())
        bad = round(self.failing * whole)
        answers = {"OK": whole - bad, "UNAVAILABLE": bad}
        return Standing(answers, 60.0, counts, dict.fromkeys(counts, 60.0))


@dataclass
class Desk:
    """A group of four queues with rates of their own, and whoever operates it."""

    state: str = "RUNNING"
    rates: tuple[float, ...] = OWN
    clock: MovingClock = field(default_factory=MovingClock)

    def __post_init__(self) -> None:
        found = [Queue(n, self.state, r) for n, r in zip(NAMES, self.rates, strict=True)]
        self.queues = MortalQueues(found)
        self.watcher = Busy(self.queues)
        self.ledger = open_ledger("sqlite://")
        self.totals: list[tuple[float, float]] = []

    def runner(self, owner: str = "me") -> Runner:
        target = Target("https://injector.test/keep-warm", TaskTemplate())
        ports = Ports(self.queues, self.clock, self.watcher, keep_warm=target)
        return Runner(self.ledger, ports, KINDS, self.clock, owner)

    def begin(self, kind: str, **spec: object) -> str:
        fields = {"queues": list(NAMES), **spec}
        operation = new_operation(
            KINDS[kind], "g", fields, now=self.clock.now(), who="ann", draw=self.queues.changes
        )
        return begin(self.ledger, operation)[0].id

    def get(self, operation_id: str) -> Operation:
        return self.ledger.operations.get(operation_id)

    def look(self, operation_id: str, *, minutes: float = 0.0) -> Operation:
        """Go on with it once, some minutes later."""
        self.clock.sleep(60 * minutes)
        try:
            return self.runner().go_on(operation_id, time_left=lambda: inf)
        finally:
            self._note()

    def run(self, operation_id: str) -> Operation:
        """Go on with it until it ends or pauses."""
        return drive(self.runner(), operation_id, lambda _: self._note())

    def die(self, operation_id: str, *, after: int) -> None:
        """Go on with it until it was killed right after a change that nobody noted."""
        self.queues.changes_left = after
        with suppress(Killed):
            self.run(operation_id)
        self.queues.changes_left = inf

    def die_at_a_look(self, operation_id: str, *, after: int, minutes: float = 0.0) -> None:
        """Go on with it once, and be killed right after a change."""
        self.queues.changes_left = after
        with suppress(Killed):
            self.look(operation_id, minutes=minutes)
        self.queues.changes_left = inf

    def by_hand(self, number: int, **fields: object) -> None:
        """Change a queue as someone else would."""
        name = NAMES[number]
        self.queues.queues[name] = replace(self.queues.queues[name], **fields)

    def found(self) -> Mapping[str, Queue]:
        return dict(self.queues.queues)

    def found_rates(self) -> list[float]:
        return [self.queues.queues[name].rate for name in NAMES]

    def _note(self) -> None:
        running = (q.rate for q in self.queues.queues.values() if q.state == "RUNNING")
        self.totals.append((self.clock.now(), sum(running)))

    def worst_growth(self, first: float) -> float:
        """Return the most by which the total outgrew what it was 5 minutes and more before."""
        return max(
            total / max([first, *(early for at, early in self.totals if at <= now - 299)])
            for now, total in self.totals
        )
