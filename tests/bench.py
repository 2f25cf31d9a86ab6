"""A fan-out in one process: a real ledger in memory, and queues whose answers a test decides."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from injector.delivery.memory import MemoryQueues
from injector.delivery.ports import Create, Queue, Result
from injector.delivery.verdict import judge
from injector.fan_out import Answer, OpenJob, fan_out
from injector.groups import Group
from injector.injector_task import InjectorTask
from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import Job, NewJob
from injector.manifest import Record, compile_request, load_manifest
from injector.pacing.ramp import CHUNK
from injector.pacing.signals import Tally
from injector.staging.chunk import Bad, Chunk
from tests.moving_clock import MovingClock

PARENT = "projects/p/locations/l/queues"
GROUP = Group(
    "welcome",
    injector_queues=(f"{PARENT}/injector-0", f"{PARENT}/injector-1"),
    queues=(f"{PARENT}/welcome-0", f"{PARENT}/welcome-1"),
)
MANIFEST = """
job: welcome-1
group: welcome
records: users.jsonl
task: {http: {url: "https://worker.example/users/{n}"}}
"""


def queues_of(group):
    return MemoryQueues(Queue(name) for name in (*group.injector_queues, *group.queues))


@dataclass
class ScriptedCreator:
    """Creates in memory, except where `fault` names a status for a create.

    A status that begins with "lost " is answered although the task was created. `sick` says of
    which creates the queue is known to take nothing.
    """

    queues: MemoryQueues
    fault: Callable[[Create], str] = lambda _create: ""
    sick: Callable[[Create], bool] = lambda _create: False
    asked: list[Create] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    tokens: float | None = None

    def create_all(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        self.asked.extend(creates)
        return [self._create(create, budget_s) for create in creates]

    def drain_signals(self):
        return self.tally.drain()

    def hedge_tokens(self):
        return self.tokens

    def close(self):
        pass

    def _create(self, create, budget_s):
        code = self.fault(create)
        if code.startswith("lost "):
            self.queues.create_all([create], budget_s=budget_s)
        if code:
            self.tally.faulted(code.removeprefix("lost "))
            end = judge(code.removeprefix("lost "), "asked for by a test", create.queue)
            if sick := self.sick(create):
                self.tally.sick(create.queue, end.code)
            return replace(end, sick=sick)
        self.tally.answered()
        return self.queues.create_all([create], budget_s=budget_s)[0]


def chunks_of(records: int, *, bad: Iterable[int] = ()) -> list[Chunk]:
    """Make the chunks of a source of so many records, of which some are bad."""
    made = [
        Bad(n, n + 1, "is not JSON") if n in set(bad) else Record(n, n + 1, b'{"n":%d}' % n)
        for n in range(records)
    ]
    starts = range(0, records, CHUNK)
    return [Chunk(i, tuple(made[at : at + CHUNK])) for i, at in enumerate(starts)]


@dataclass
class Bench:
    """A registered job on a ledger, and what its chunks are fanned out with."""

    ledger: Ledger
    creator: ScriptedCreator
    chunks: list[Chunk]
    clock: MovingClock = field(default_factory=MovingClock)
    rejected_limit: float = float("inf")
    job: str = "welcome-1"
    group: Group = GROUP
    manifest: str = MANIFEST

    def register(self):
        records = sum(len(chunk.records) for chunk in self.chunks)
        job = NewJob(self.job, GROUP.name, "{}", "memory:", records, len(self.chunks), "d")
        self.ledger.jobs.register(job, now=self.clock.now())
        return self

    def open_job(self, _job: Job) -> OpenJob:
        manifest = load_manifest(self.manifest, source="test")
        return OpenJob(
            self.chunks.__getitem__,
            compile_request(manifest, self.group.queues),
            self.creator,
            lambda _: self.rejected_limit,
            queues=len(self.group.queues),
        )

    def deliver(
        self, chunk: int, *, job: str = "", ledger: object = None, generation: int = 0
    ) -> Answer:
        return fan_out(
            InjectorTask(job or self.job, chunk, generation),
            ledger=ledger or self.ledger,
            open_job=self.open_job,
            clock=self.clock,
            time_left=lambda: 45.0,
        )

    @property
    def totals(self):
        return self.ledger.jobs.totals(self.job)

    @property
    def state(self):
        return self.ledger.jobs.get(self.job)


def bench_of(
    records: int,
    *,
    bad: Iterable[int] = (),
    rejected_limit: float = float("inf"),
    queues: int = 2,
    mode: str = "single",
) -> Bench:
    """Register a job of so many records, in a group of so many queues."""
    manifest = f"{MANIFEST}create_mode: {mode}\n"
    group = replace(GROUP, queues=tuple(f"{PARENT}/welcome-{n}" for n in range(queues)))
    creator = ScriptedCreator(queues_of(group))
    made = chunks_of(records, bad=bad)
    ledger = open_ledger("sqlite://")
    bench = Bench(
        ledger, creator, made, rejected_limit=rejected_limit, group=group, manifest=manifest
    )
    return bench.register()
