"""A group whose jobs are fed, for tests of feeds."""

from dataclasses import dataclass, field, replace
from itertools import pairwise

from injector.control.feed import Call, Feeder, Horizon
from injector.control.slots import Mark, Pace
from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import TaskTemplate
from injector.groups import Group
from injector.injector_task import parse_injector_task
from injector.ledger import Ledger
from injector.ledger.ports import NewJob, Receipt
from injector.pacing.ramp import Ramp

NOW = 1_000_000.0
PARENT = "projects/p/locations/l/queues"
GROUP = Group("welcome", (f"{PARENT}/injector-0", f"{PARENT}/injector-1"), (f"{PARENT}/welcome",))
FLAT = Ramp(growth=1.0)


@dataclass
class Field:
    """A group with jobs, its injector queues, and the mark that the feeds leave."""

    ledger: Ledger
    queues: MemoryQueues
    ramp: Ramp = FLAT
    mark: Mark = field(default_factory=Mark)
    horizon: Horizon = field(default_factory=Horizon)
    batch: int = 1000

    def add(self, job="job", chunks=100_000, **tuning: float):
        new = NewJob(job, "welcome", "{}", "memory:", chunks * 100, chunks, "d", **tuning)
        self.ledger.jobs.register(new, now=NOW)

    def feed(self, *, now=NOW, rate=None, jobs=None, queues=None, time_left=lambda: 45.0):
        """Feed once, and keep the mark."""
        ramp = self.ramp if rate is None else replace(FLAT, initial_rate=rate)
        call = Call("https://injector.example/inject", TaskTemplate())
        feeder = Feeder(
            jobs or self.ledger.jobs, queues or self.queues, call, self.horizon, self.batch
        )
        pace = Pace(ramp, NOW, ramp.rate_at(max(0, now - NOW)))
        fed = feeder.top_up(GROUP, pace, self.mark, now=now, time_left=time_left)
        self.mark = fed.mark
        return fed

    def settle(self, chunks, *, job="job"):
        for chunk in chunks:
            receipt = Receipt(job, chunk, 1, created_mask=1)
            self.ledger.receipts.merge(receipt, now=NOW)

    @property
    def tasks(self):
        return [parse_injector_task(create.body) for create in self.queues.created.values()]

    @property
    def dues(self):
        return sorted(create.schedule_time for create in self.queues.created.values())

    def dues_of(self, job):
        return sorted(
            create.schedule_time
            for create in self.queues.created.values()
            if parse_injector_task(create.body).job == job
        )

    def fed_of(self, job):
        return sum(task.job == job for task in self.tasks)


def gaps(times):
    return [later - earlier for earlier, later in pairwise(times)]
