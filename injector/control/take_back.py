"""Taking the waiting tasks of cancelled jobs back: a page of chunks at a time, at a safe pace.

A page's names are those of all its records that were not rejected, whether or not a receipt
tells of their create. The names depend on nothing but job and record, so a page that was cut
off is done again, and what had been deleted then counts as it did.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from injector.clock import Clock
from injector.delivery.ports import Deleted, QueueAdmin
from injector.errors import Rejected
from injector.fan_out import OpenJob
from injector.groups import Group
from injector.ledger.ports import Job, LedgerPort, TakeBack
from injector.manifest.record import Record
from injector.pacing.ramp import CHUNK
from injector.staging.chunk import Chunk

PAGE = 50
"""How many chunks are done with together: 125 names in each of 40 queues."""

RESERVE_S = 5.0
"""How much of its time a tick leaves."""

TRIES = 5

Names = Mapping[str, list[str]]
"""Full task names by queue."""


@dataclass(frozen=True, slots=True)
class TakesBack:
    """Deletes at most as many tasks a second as the group may create.

    `open_job` gives what a job's records are read and named by.
    """

    ledger: LedgerPort
    queues: QueueAdmin
    open_job: Callable[[Job], OpenJob]
    clock: Clock

    def run(self, group: Group, *, rate: float, time_left: Callable[[], float]) -> Iterator[str]:
        """Go on with the group's take-backs, and tell of each how far it is."""
        for wish in self.ledger.takebacks.open(group.name, now=self.clock.now()):
            yield self._go_on(wish, rate=rate * CHUNK, time_left=time_left)

    def _go_on(self, wish: TakeBack, *, rate: float, time_left: Callable[[], float]) -> str:
        job = self.ledger.jobs.get(wish.job)
        opened = self.open_job(job)
        while not wish.done and time_left() > RESERVE_S:
            began = self.clock.monotonic()
            past = min(wish.next + PAGE, wish.past)
            names = self._names(job, opened, wish.next, past)
            mark = f"{job.id}/{wish.next}-{past}"
            ended = self._delete(names, mark=mark, time_left=time_left)
            if ended.left:
                return f"tasks of job {job.id} are not taken back yet: {ended.reason}"
            self.ledger.takebacks.advance(wish, past=past, deleted=ended.deleted, gone=ended.gone)
            wish = self.ledger.takebacks.of(job.id) or wish
            due_s = (ended.deleted + ended.gone) / rate
            self.clock.sleep(due_s - (self.clock.monotonic() - began))
        return _words(wish)

    def _names(self, job: Job, opened: OpenJob, first: int, past: int) -> Names:
        names: defaultdict[str, list[str]] = defaultdict(list)
        for number in range(first, past):
            kept = self.ledger.receipts.load(job.id, number)
            rejected = kept.rejected_mask if kept else 0
            for queue, task in _named(opened, opened.read(number), rejected):
                names[queue].append(f"{queue}/tasks/{task}")
        return names

    def _delete(self, names: Names, *, mark: str, time_left: Callable[[], float]) -> Deleted:
        """Delete them, and what was not taken once more, under no mark: a failure would repeat."""
        ended = self.queues.delete_tasks(names, mark=mark, budget_s=time_left())
        for _ in range(TRIES):
            if not ended.left or time_left() <= RESERVE_S:
                break
            rest = self.queues.delete_tasks(_by_queue(ended.left), mark="", budget_s=time_left())
            ended = Deleted(
                ended.deleted + rest.deleted, ended.gone + rest.gone, rest.left, rest.reason
            )
        return ended


def _named(opened: OpenJob, chunk: Chunk, rejected: int) -> Iterator[tuple[str, str]]:
    for position, record in enumerate(chunk.records):
        if isinstance(record, Record) and not rejected >> position & 1:
            try:
                yield opened.renderer.name(record)
            except Rejected:
                continue  # it has no identity, so it had no task


def _by_queue(names: tuple[str, ...]) -> Names:
    by_queue: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        by_queue[name.partition("/tasks/")[0]].append(name)
    return by_queue


def _words(wish: TakeBack) -> str:
    counts = f"{wish.deleted} deleted, {wish.gone} had run or were never created"
    state = "are taken back" if wish.done else f"are taken back up to chunk {wish.next}"
    return f"the tasks of job {wish.job} {state}: {counts}"
