"""A group's queues over the emulator in virtual time, and operations that are carried on there."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import inf

from injector.delivery.creator import Delivery, make_creator
from injector.delivery.ports import Create
from injector.emulator.state.dynamics import OFF
from injector.emulator.state.queue import QueueState
from injector.operations.kind import Ports, Target
from injector.operations.kinds import KINDS
from injector.operations.runner import Runner
from injector.operations.steering import begin, new_operation
from injector.operations.values import Operation, State
from injector.pacing.ramp import Ramp
from injector.queues.monitoring import Monitoring
from tests.pace.law import excess, worst_growth
from tests.pace.virtual_world import START, VirtualWorld, WorldClock, virtual_world

MINUTE_S = 60.0
WARM_URL = "http://target.test/keep-warm"


@dataclass
class Operated:
    """The world, what is operated in it, and the counts of the emulator."""

    world: VirtualWorld
    runner: Runner
    more: Iterator[int] = field(default_factory=count)

    @property
    def queues(self) -> tuple[str, ...]:
        return self.world.group.queues

    @property
    def now(self) -> float:
        return self.world.now

    def fill(self, tasks: int, *, at: float | None = None, prefix: str = "") -> None:
        """Create so many tasks in each queue, due at an instant or at once."""
        for queue in self.queues:
            names = [f"{prefix}{n}-{queue[-2:]}" for n in range(tasks)]
            self._create(queue, names, at=at)

    def _create(self, queue: str, names: Sequence[str], *, at: float | None = None) -> None:
        creator = make_creator(self.world.connection, Delivery(mode="batch", throttle=None))
        creates = [
            Create(queue, name, f"http://target.test/{name}", schedule_time=at) for name in names
        ]
        for first in range(0, len(creates), 100):
            creator.create_all(creates[first : first + 100], budget_s=1000.0)

    def top_up(self) -> None:
        """Let every queue that runs have more tasks than it can dispatch in two minutes."""
        for queue in self.queues:
            found = self.world.parts.service.registry.queues[queue]
            most = round(2 * MINUTE_S * found.limits.rate.max_dispatches_per_second)
            if found.depth < most and found.state is QueueState.RUNNING:
                self._create(queue, [f"{next(self.more)}-{queue[-2:]}" for _ in range(most)])

    def set_all(self, *, rate: float, paused: bool = False) -> None:
        for queue in self.queues:
            self.world.admin.update_rate(queue, rate=rate)
            if paused:
                self.world.admin.pause_queue(queue)

    def begin(self, kind: str, **spec: object) -> str:
        fields = {"queues": list(self.queues), **spec}
        operation = new_operation(KINDS[kind], "pace", fields, now=self.now, who="ann", draw=1)
        return begin(self.world.ledger, operation)[0].id

    def get(self, operation_id: str) -> Operation:
        return self.world.ledger.operations.get(operation_id)

    def look(self, operation_id: str) -> Operation:
        """Go on with it once."""
        return self.runner.go_on(operation_id, time_left=lambda: inf)

    def run(self, operation_id: str, *, minutes: float = 600, busy: bool = False) -> Operation:
        """Go on with it each minute until it ends or pauses; `busy` queues never run dry."""
        until = self.now + minutes * MINUTE_S
        while self.now < until:
            if busy:
                self.top_up()
            operation = self.look(operation_id)
            if operation.state is not State.RUNNING:
                return operation
            self.world.run_until(min(operation.next_at, self.now + MINUTE_S))
        return self.get(operation_id)

    def rates(self) -> list[float]:
        return [self.world.admin.get_queue(queue).rate for queue in self.queues]

    def states(self) -> list[str]:
        return [self.world.admin.get_queue(queue).state for queue in self.queues]

    def dispatched(self, queues: tuple[str, ...] = ()) -> list[int]:
        """Return dispatches by minute, as the emulator measured them."""
        by_minute = Counter()
        for queue in queues or self.queues:
            found = self.world.parts.metrics.delays_ms.between((queue,), START, self.now + MINUTE_S)
            for point in found:
                by_minute[point.minute - int(START // MINUTE_S)] += point.number
        return [by_minute[minute] for minute in range(int((self.now - START) // MINUTE_S) + 1)]

    def excess(self, *, first_rate: float = 500.0) -> float:
        """Return by how many dispatches the worst 5 minutes broke the law."""
        return excess(self.dispatched(), first_rate=first_rate)

    def worst_growth(self, *, first_rate: float = 500.0) -> float:
        """Return the most by which 5 minutes outdid the best before; 500/s is what was before."""
        return worst_growth(self.dispatched(), first_rate=first_rate)

    def fastest_queue(self) -> float:
        """Return the most that one queue dispatched in a minute, per second."""
        return max(max(self.dispatched((queue,))) for queue in self.queues) / MINUTE_S


@contextmanager
def operated(
    queues: int = 4,
    *,
    target: Callable[[float], int] = lambda _: 200,
    dynamics: object = OFF,
    late_s: float = 0.0,
) -> Iterator[Operated]:
    with virtual_world(ramp=Ramp(), queues=queues, dynamics=dynamics, target=target) as world:
        clock = WorldClock(world)
        ports = Ports(
            world.admin,
            clock,
            Monitoring(world.connection),
            late_s,
            keep_warm=Target(WARM_URL, Create("", "", "").template),
        )
        yield Operated(world, Runner(world.ledger, ports, KINDS, clock, owner="here"))
