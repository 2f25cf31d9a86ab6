"""Topping up the injector queues: the next chunks of the running jobs, evenly on the ramp's curve.

Tasks are created first and noted in the ledger afterwards, so that a crash between the two
creates the same names again. Slots on the curve are counted, and dealt to the jobs.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from types import MappingProxyType

from injector.control.pinning import Pinning
from injector.control.slots import (
    Mark,
    Order,
    Pace,
    Slot,
    count_of,
    deal_slots,
    due_times,
    soon_slots,
    without_dealt,
)
from injector.delivery.ports import Create, Outcome, QueueAdmin, Result, TaskTemplate
from injector.groups import Group
from injector.injector_task import InjectorTask, create_injector_task
from injector.layout import Layout
from injector.ledger.ports import Chunks, Job, Jobs, JobState

BATCH_S = 10.0
SLACK = 1.2
SLACK_TASKS = 10
_NOTHING: Mapping[str, int] = MappingProxyType({})

SOON_S = 20.0
"""Within how long chunks are due whose fan-out is to show at the next tick how a queue is."""

LATE_S = 180.0
"""How late an injector task of a job with a limit may be dispatched; later ones are recalled.

More than a group's tasks may be late while it dispatches at all: half a horizon, or one after a
cut of its rate.
"""


@dataclass(frozen=True, slots=True)
class Horizon:
    """How far ahead to feed, and after how long without a receipt to feed again, in seconds."""

    ahead_s: float = 180.0
    overdue_s: float = 900.0


@dataclass(frozen=True, slots=True)
class Call:
    """What an injector task requests: the service's own URL, with its own identity."""

    url: str
    template: TaskTemplate


@dataclass(frozen=True, slots=True)
class Fed:
    """What a feed did, in chunks; `fault` says why it stopped early, empty when it did not."""

    mark: Mark
    fed: int = 0
    refed: int = 0
    fault: str = ""


@dataclass(frozen=True, slots=True)
class Released:
    """How many chunks were let go that had waited: for each queue, and of each job."""

    of: Mapping[str, int]
    by: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Row:
    """A job's part of a batch: its chunks in order, and when each is due."""

    job: str
    ranges: tuple[Chunks, ...]
    dues: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Feeder:
    """Feeds groups, at most `batch` tasks or `BATCH_S` of the curve before each note.

    The ledger knows when a note's last task was due, so its tasks must not be far apart.
    """

    jobs: Jobs
    queues: QueueAdmin
    call: Call
    horizon: Horizon = Horizon()
    batch: int = 1000

    def top_up(  # noqa: PLR0913
        self,
        group: Group,
        pace: Pace,
        mark: Mark,
        *,
        now: float,
        time_left: Callable[[], float],
        layout_at: Callable[[float], Layout] | None = None,
        soon: Mapping[str, int] = _NOTHING,
    ) -> Fed:
        """Create what the group will use within the horizon, and note it.

        `layout_at` gives the layout at a rate of the group; None means its queues, all alike. So
        many of a job's lost chunks as `soon` says do not wait for the end of what is fed.
        """
        active = self.jobs.active(group.name)
        recalled = mark.recalled(active)
        start = Mark(slots=mark.slots) if recalled else mark
        times = due_times(pace, start, now=now, ahead_s=self.horizon.ahead_s)
        orders = [
            self._order(job, pace, limit=len(times), soon=soon.get(job.id, 0), now=now)
            for job in _running(active)
        ]
        slots = deal_slots(times, orders, rate_at=pace.rate_at, first=mark.slots)
        if recalled:
            slots = list(without_dealt(slots, orders, recalled, until=mark.until))
        slots = slots[: self._room(pace, orders, now=now)]
        slots = [*soon_slots(orders, now=now, span_s=SOON_S), *slots]
        pinning = self._pinning(group, pace, layout_at)
        fed = self._fill(slots, orders, group, pinning, Fed(mark), now=now, time_left=time_left)
        if fed.fault and fed.mark == mark:
            return fed
        known = now + 2 * self.horizon.ahead_s
        return replace(fed, mark=mark.onwards(fed.mark, active, no_later=known))

    def release(self, group: Group, tries: Mapping[str, int], *, most: int, now: float) -> Released:
        """Let chunks that wait for queues be fed again: so many for each, and `most` in all."""
        jobs = _running(self.jobs.active(group.name))
        of: Counter[str] = Counter()
        by: Counter[str] = Counter()
        for queue, wanted in tries.items():
            left = min(wanted, most - of.total())
            for job in jobs:
                count = self.jobs.release(job.id, queue, limit=left, now=now) if left else 0
                left, by[job.id], of[queue] = left - count, by[job.id] + count, of[queue] + count
        return Released(of, by)

    def _pinning(
        self, group: Group, pace: Pace, layout_at: Callable[[float], Layout] | None
    ) -> Pinning | None:
        """Return what pins chunks to queues; None where they go to a topic."""
        if not group.queues:
            return None
        at_rate = layout_at or (lambda _rate: Layout(group.queues))
        return Pinning(self.jobs, lambda due: at_rate(pace.rate_at(due)))

    def _order(self, job: Job, pace: Pace, *, limit: int, soon: int, now: float) -> Order:
        before = max(now - self.horizon.overdue_s, resumed_at(self.jobs, job) + BATCH_S)
        limit += soon
        lost = self.jobs.overdue(job.id, before=before, limit=limit) if limit else ()
        fresh = Chunks(job.cursor, job.chunks, job.generation)
        totals = self.jobs.totals(job.id)
        under_way = job.cursor - totals.chunks_settled - totals.waiting
        ranges = (*lost, fresh) if job.cursor < job.chunks else tuple(lost)
        limited = job.max_rate is not None and job.max_rate < pace.rate
        return Order(job, ranges, under_way, limited, min(soon, count_of(lost)))

    def _room(self, pace: Pace, orders: Sequence[Order], *, now: float) -> int:
        """Count what may be fed, so that queues which stand still do not fill up.

        What is fed and not settled counts against what the horizon will use, unless it waits for
        a sick queue; what was lost is part of that, and may be fed again.
        """
        ahead = pace.total_by(now + self.horizon.ahead_s) - pace.total_by(now)
        under_way = sum(order.under_way for order in orders)
        lost = sum(count_of(chunks for chunks in order.ranges if chunks.feed) for order in orders)
        return max(0, math.ceil(ahead * SLACK) + SLACK_TASKS - under_way) + lost

    def _fill(  # noqa: PLR0913
        self,
        slots: Sequence[Slot],
        orders: Sequence[Order],
        group: Group,
        pinning: Pinning | None,
        fed: Fed,
        *,
        now: float,
        time_left: Callable[[], float],
    ) -> Fed:
        """Feed batch by batch, in the order of time, until one is not wholly taken."""
        left = {order.job.id: order.ranges for order in orders}
        wanted = {order.job.id: order for order in orders}
        for batch in _batches(slots, self.batch):
            budget_s = time_left()
            if budget_s <= 0:
                return replace(fed, fault="the time for feeding was over")
            rows = list(_rows(batch, left))
            if pinning:
                for row in rows:
                    pinning.pin(wanted[row.job].job, row.ranges, due=batch[-1].due)
            creates = [
                create
                for row in rows
                for create in self._creates(row, group, limited=wanted[row.job].limited)
            ]
            results = self.queues.create_injector_tasks(creates, budget_s=budget_s)
            fed = self._note_all(rows, results, fed, now=now)
            if fed.fault:
                return fed
            fed = replace(fed, mark=Mark(batch[-1].due, fed.mark.slots + len(batch)))
        return fed

    def _creates(self, row: Row, group: Group, *, limited: bool) -> Iterator[Create]:
        for task, due in zip(_tasks(row, limited=limited), row.dues, strict=True):
            yield create_injector_task(
                task,
                queues=group.injector_queues,
                schedule_time=due,
                url=self.call.url,
                template=self.call.template,
            )

    def _note_all(
        self, rows: Sequence[Row], results: Sequence[Result], fed: Fed, *, now: float
    ) -> Fed:
        """Note each job's chunks as far as they were taken without a gap."""
        rest = iter(results)
        for row in rows:
            ends = list(islice(rest, len(row.dues)))
            taken = next((i for i, end in enumerate(ends) if not _taken(end)), len(ends))
            if taken:
                fed = self._note(row, taken, fed, now=now)
            if taken < len(ends) and not fed.fault:
                fed = replace(fed, fault=ends[taken].reason or ends[taken].code)
        return fed

    def _note(self, row: Row, taken: int, fed: Fed, *, now: float) -> Fed:
        ranges, _ = take(row.ranges, taken)
        lost = [chunks for chunks in ranges if chunks.feed]
        until = row.dues[taken - 1]
        refed = self.jobs.refeed(row.job, lost, scheduled_until=until, now=now) if lost else 0
        fresh = [chunks for chunks in ranges if not chunks.feed]
        for chunks in fresh:
            if not self.jobs.advance(row.job, chunks, scheduled_until=until, now=now):
                fault = f"job {row.job} was fed by someone else meanwhile"
                return replace(fed, refed=fed.refed + refed, fault=fault)
        return replace(fed, fed=fed.fed + count_of(fresh), refed=fed.refed + refed)


def resumed_at(jobs: Jobs, job: Job) -> float:
    """Return when the job was last resumed; 0 if it never was.

    Chunks that were dispatched while it was paused were acknowledged, so all that was due by
    then and has no receipt is to be fed again without waiting.
    """
    changes = (line for line in jobs.audit(job.id) if line.what == "state")
    return next((line.at for line in changes if line.new == JobState.RUNNING), 0.0)


def _running(jobs: Iterable[Job]) -> list[Job]:
    return [job for job in jobs if job.state is JobState.RUNNING]


def take(ranges: Sequence[Chunks], count: int) -> tuple[tuple[Chunks, ...], tuple[Chunks, ...]]:
    """Split the ranges behind the first `count` chunks."""
    taken: list[Chunks] = []
    for number, chunks in enumerate(ranges):
        if count <= 0:
            return tuple(taken), tuple(ranges[number:])
        past = min(chunks.past, chunks.first + count)
        taken.append(replace(chunks, past=past))
        count -= past - chunks.first
        if past < chunks.past:
            return tuple(taken), (replace(chunks, first=past), *ranges[number + 1 :])
    return tuple(taken), ()


def _batches(slots: Sequence[Slot], size: int) -> Iterator[Sequence[Slot]]:
    start = 0
    for number, slot in enumerate(slots):
        if number - start == size or slot.due - slots[start].due > BATCH_S:
            yield slots[start:number]
            start = number
    if start < len(slots):
        yield slots[start:]


def _rows(batch: Sequence[Slot], left: dict[str, tuple[Chunks, ...]]) -> Iterator[Row]:
    """Gather a batch by job, taking the chunks from what is left."""
    for job in {slot.job: None for slot in batch if slot.job}:
        dues = tuple(slot.due for slot in batch if slot.job == job)
        ranges, left[job] = take(left[job], len(dues))
        yield Row(job, ranges, dues)


def _tasks(row: Row, *, limited: bool) -> Iterator[InjectorTask]:
    """Yield the tasks; one that is fed again is never late, so that its chunk gets on."""
    dues = iter(row.dues)
    for chunks in row.ranges:
        for chunk in range(chunks.first, chunks.past):
            due = next(dues)
            late_at = due + LATE_S if limited and not chunks.feed else 0.0
            yield InjectorTask(row.job, chunk, chunks.generation, late_at=late_at)


def _taken(result: Result) -> bool:
    return result.outcome in (Outcome.CREATED, Outcome.EXISTED)
