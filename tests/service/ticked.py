"""A controller over queues in memory, for tests of ticks."""

from dataclasses import dataclass, field

from injector.control.feed import Call, Feeder
from injector.control.tick import Ticker
from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import Queue, TaskTemplate
from injector.groups import Group
from injector.injector_task import parse_injector_task
from injector.ledger.ports import NewJob, Receipt
from injector.pacing.ramp import Ramp
from injector.pacing.signals import Tally
from tests.moving_clock import MovingClock

NOW = 1_000_020.0
PARENT = "projects/p/locations/l/queues"
RAMP = Ramp(initial_rate=0.5)


def group_of(name="welcome"):
    return Group(name, (f"{PARENT}/{name}-0", f"{PARENT}/{name}-1"), (f"{PARENT}/x",), None, RAMP)


class CountedQueues(MemoryQueues):
    """Queues that note who asked for what."""

    def __init__(self) -> None:
        super().__init__(
            Queue(name)
            for group in ("welcome", "other")
            for name in group_of(group).injector_queues
        )
        self.updates = []
        self.gets = 0

    def get_queue(self, queue):
        self.gets += 1
        return super().get_queue(queue)

    def update_rate(self, queue, *, rate=None, concurrency=None):
        self.updates.append((queue, rate, concurrency))
        return super().update_rate(queue, rate=rate, concurrency=concurrency)


@dataclass
class World:
    """A controller over queues that dispatch on time, and fan-outs that succeed unless told."""

    ledger: object
    queues: CountedQueues = field(default_factory=CountedQueues)
    clock: MovingClock = field(default_factory=lambda: MovingClock(NOW))
    groups: tuple[str, ...] = ("welcome",)
    faults: float = 0.0
    dispatched: set[str] = field(default_factory=set)

    def ticker(self, **changes: object):
        call = Call("https://injector.example/inject", TaskTemplate())
        feeder = Feeder(self.ledger.jobs, self.queues, call)
        parts = {
            "groups": {name: group_of(name) for name in self.groups},
            "ledger": self.ledger,
            "queues": self.queues,
            "feeder": feeder,
            "clock": self.clock,
        }
        return Ticker(**(parts | changes))

    def add(self, job="job", chunks=10_000, group="welcome"):
        new = NewJob(job, group, "{}", "memory:", chunks, chunks, "d")
        self.ledger.jobs.register(new, now=self.clock.now())

    def tick(self, **changes: object):
        ticks = self.ticker(**changes).tick("me", time_left=lambda: 45.0)
        return {tick.group: tick for tick in ticks}

    def pass_time(self, seconds):
        """Let the queues dispatch what is due meanwhile."""
        until = self.clock.time + seconds
        due = [
            (create.schedule_time, name, parse_injector_task(create.body))
            for name, create in self.queues.created.items()
            if name not in self.dispatched and create.schedule_time <= until
        ]
        for at, name, task in sorted(due):
            self.dispatched.add(name)
            self.settle(task, at)
        self.clock.time = until

    def settle(self, task, at):
        tally = Tally()
        tally.answered(creates=round(100 * (1 - self.faults)))
        if self.faults:
            tally.faulted("UNAVAILABLE", creates=round(100 * self.faults))
        tally.fanned_out(0.2, deferred=False)
        tally.called(0.01)
        receipt = Receipt(task.job, task.chunk, 1, created_mask=1)
        self.ledger.receipts.merge(receipt, now=at, counts=tally.drain().to_counts())

    def run(self, minutes):
        """Tick each minute, and return the rate after each tick."""
        rates = []
        for _ in range(minutes):
            rates.append(self.tick()["welcome"].rate)
            self.pass_time(60)
        return rates

    def decisions(self):
        return [(each.action, each.reason) for each in self.ledger.groups.decisions("welcome")][
            ::-1
        ]
