"""One chunk: read its slice, render its records, create what is missing, write the receipt."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from injector.clock import Clock
from injector.control.stop import stop_for_fault, stop_for_rejects
from injector.delivery.ports import Create, Creator, Outcome, Result
from injector.errors import Misused, NotFound, Rejected
from injector.injector_task import InjectorTask
from injector.ledger.ports import Job, JobState, LedgerPort, Receipt, Reject, Wait
from injector.manifest.record import Record
from injector.pacing.ramp import CHUNK
from injector.pacing.signals import Signals, Tally
from injector.staging.chunk import Bad, Chunk

TOO_FEW = 2
"""Of so many queues, one that is in trouble does not tell how the others are."""


class Verdict(StrEnum):
    """What becomes of an injector task.

    settled: every record has an outcome, and the receipt is durable. open: some record has
    none, and the task is to be delivered again. waiting: those that have none are for a queue
    which takes nothing, and ticks feed the chunk again. parked: the job is paused, and its feed
    sends the chunk again once it runs. recalled: the job's pace is another now, and the next tick
    feeds the chunk again at that. dropped: the job has ended.
    """

    SETTLED = "settled"
    OPEN = "open"
    WAITING = "waiting"
    PARKED = "parked"
    RECALLED = "recalled"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class Answer:
    """How a fan-out ended.

    `receipt` is all that is settled of the chunk, None when nothing is. `new` is what this
    fan-out found, None when it did not come to that, and `seen` how the service fared with it.
    `hedge_tokens` are what is left for hedges in the `group`, None where nothing is hedged.
    """

    verdict: Verdict
    receipt: Receipt | None = None
    new: Receipt | None = None
    seen: Signals = field(default_factory=Signals)
    reason: str = ""
    group: str = ""
    hedge_tokens: float | None = None


class Renderer(Protocol):
    """Makes a record's create request."""

    def create(self, record: Record, *, now: float) -> Create:
        """Return the create; raise Rejected when the record cannot become a task."""

    def create_all(self, records: Sequence[Record], *, now: float) -> list[Create]:
        """Return the creates of many, at less cost; raise Rejected when one has none."""

    def name(self, record: Record) -> tuple[str, str]:
        """Return the queue and the id of the record's task."""


@dataclass(frozen=True, slots=True)
class OpenJob:
    """A job ready to be fanned out.

    `rejects_allowed` says how many of so many records may be rejected, unless the job itself
    has been told. `fresh_of` names a chunk's queues that were new to the group when it was fed.
    `queues` is how many the group has, 0 for a topic.
    """

    read: Callable[[int], Chunk]
    renderer: Renderer
    creator: Creator
    rejects_allowed: Callable[[int], float]
    fresh_of: Callable[[int], Collection[str]] = lambda _chunk: ()
    queues: int = 0

    def limit(self, job: Job) -> float:
        """Return how many rejects the job may have."""
        return (
            self.rejects_allowed(job.records)
            if job.rejects_allowed is None
            else job.rejects_allowed
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """What a chunk still needs: a create for each of `positions`, and rejects to note."""

    positions: tuple[int, ...]
    creates: tuple[Create, ...]
    rejects: tuple[Reject, ...]


def fan_out(
    task: InjectorTask,
    *,
    ledger: LedgerPort,
    open_job: Callable[[Job], OpenJob],
    clock: Clock,
    time_left: Callable[[], float],
) -> Answer:
    """Settle the chunk's records; those that have an outcome already are left alone.

    What is settled within the time is kept. Raises Rejected for a task that names no chunk
    that can be read, and Retryable while the ledger or the chunk store is away.
    """
    job, kept = _begin(task, ledger)
    if kept and kept.settled:
        return Answer(Verdict.SETTLED, kept)
    if job.state is not JobState.RUNNING:
        return _unwanted(job, kept)
    if why := _recalled(job, task, ledger, now=clock.now()):
        return Answer(Verdict.RECALLED, kept, reason=why)
    opened, chunk = _open(job, task, ledger=ledger, open_job=open_job, now=clock.now())
    plan = plan_chunk(chunk, kept.settled_mask if kept else 0, opened.renderer, now=clock.now())
    made = _create(plan, chunk, opened, clock=clock, budget_s=time_left())
    receipt = receipt_of(task, plan, chunk, made.results)
    wait = Wait(made.left.sick, task.generation) if made.left.sick else None
    counts = made.seen.to_counts()
    merged = ledger.receipts.merge(receipt, now=clock.now(), counts=counts, wait=wait)
    if receipt.rejected_mask:
        stop_for_rejects(ledger.jobs, job, limit=opened.limit(job), now=clock.now())
    if made.left.fault:
        stop_for_fault(ledger.jobs, job, made.left.fault, now=clock.now())
    verdict, reason = _verdict(made, merged)
    tokens = opened.creator.hedge_tokens()
    return Answer(verdict, merged, receipt, made.seen, reason, job.group, tokens)


def _begin(task: InjectorTask, ledger: LedgerPort) -> tuple[Job, Receipt | None]:
    try:
        job, kept = ledger.receipts.begin(task.job, task.chunk)
    except NotFound as error:
        raise Rejected(f"there is no job {task.job}") from error
    if task.chunk >= job.chunks:
        raise Rejected(f"job {job.id} has no chunk {task.chunk}: it has {job.chunks}")
    return job, kept


def _unwanted(job: Job, kept: Receipt | None) -> Answer:
    """Acknowledge the chunk of a job that does not run.

    Handing it back would make the queue slow down for the group's other jobs.
    """
    parked = job.state is JobState.PAUSED
    verdict = Verdict.PARKED if parked else Verdict.DROPPED
    return Answer(verdict, kept, reason=f"job {job.id} is {job.state}")


def _recalled(job: Job, task: InjectorTask, ledger: LedgerPort, *, now: float) -> str:
    """Say why the task does not count any more, or empty text when it does.

    One that comes late has others behind it, which the queue would dispatch at the group's rate.
    So the first has all of its job recalled; they are fed again evenly.
    """
    if task.generation < job.generation:
        return f"job {job.id} is fed again at another pace"
    if not 0 < task.late_at < now:
        return ""
    ledger.jobs.recall(job.id, job.generation)
    return f"job {job.id} has a limit, and this was to be done before; it is fed again"


def _open(
    job: Job,
    task: InjectorTask,
    *,
    ledger: LedgerPort,
    open_job: Callable[[Job], OpenJob],
    now: float,
) -> tuple[OpenJob, Chunk]:
    """Read the chunk; one that cannot be read stops its job, for the next would be no better."""
    try:
        opened = open_job(job)
        chunk = opened.read(task.chunk)
        _check_size(len(chunk.records))
    except (Misused, Rejected) as error:
        stop_for_fault(ledger.jobs, job, f"chunk {task.chunk}: {error}", now=now)
        raise Rejected(f"chunk {task.chunk} of job {job.id} cannot be read: {error}") from error
    return opened, chunk


def _check_size(records: int) -> None:
    if not 0 < records <= CHUNK:
        raise Rejected(f"it has {records} records; a chunk has 1 to {CHUNK}")


def plan_chunk(chunk: Chunk, settled_mask: int, renderer: Renderer, *, now: float) -> Plan:
    """Render each record that has no outcome yet: all at once, or else one by one."""
    records = chunk.records
    open_ = [place for place in range(len(records)) if not settled_mask >> place & 1]
    left = [records[place] for place in open_]
    good = [record for record in left if isinstance(record, Record)]
    if len(good) == len(left):
        with suppress(Rejected):
            return Plan(tuple(open_), tuple(renderer.create_all(good, now=now)), ())
    positions, creates, rejects = [], [], []
    for position, record in zip(open_, left, strict=True):
        try:
            creates.append(_create_of(record, renderer, now=now))
            positions.append(position)
        except Rejected as error:
            rejects.append(_reject(position, record, str(error)))
    return Plan(tuple(positions), tuple(creates), tuple(rejects))


def _create_of(record: Record | Bad, renderer: Renderer, *, now: float) -> Create:
    if isinstance(record, Bad):
        raise Rejected(record.reason)
    return renderer.create(record, now=now)


@dataclass(frozen=True, slots=True)
class LeftOver:
    """What the creates that were not taken ask for.

    `sick` is a queue that takes nothing, for which all of them can only wait, or for another
    like it. `fault` is what a person must mend before the job can go on. Else, if there are any,
    the injector task is `deferred`: delivered again. `broken` counts what queues refuse that a
    person must mend and that were not known to be sick, by queue and code.
    """

    sick: str = ""
    fault: str = ""
    deferred: bool = False
    broken: Mapping[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """How the creates of a plan ended, what is left of them, and what the service showed."""

    results: Sequence[Result]
    left: LeftOver
    seen: Signals


def _create(plan: Plan, chunk: Chunk, opened: OpenJob, *, clock: Clock, budget_s: float) -> Made:
    """Create what the chunk still needs."""
    began = clock.monotonic()
    results = opened.creator.create_all(plan.creates, budget_s=budget_s)
    left = left_over(plan.creates, results, lambda: _among(chunk, opened))
    seconds = clock.monotonic() - began
    seen = _seen(opened.creator, results, seconds=seconds, left=left)
    if fresh := opened.fresh_of(chunk.number):
        seen += _fresh(plan, results, fresh)
    return Made(results, left, seen)


def receipt_of(task: InjectorTask, plan: Plan, chunk: Chunk, results: Sequence[Result]) -> Receipt:
    """Write down which records are settled now."""
    ends = dict(zip(plan.positions, results, strict=True))
    refused = [
        _reject(position, chunk.records[position], ends[position].reason)
        for position in _ended(ends, Outcome.REJECTED)
    ]
    rejects = (*plan.rejects, *refused)
    return Receipt(
        job=task.job,
        chunk=task.chunk,
        records=len(chunk.records),
        created_mask=_mask(_ended(ends, Outcome.CREATED)),
        existed_mask=_mask(_ended(ends, Outcome.EXISTED)),
        rejected_mask=_mask(reject.position for reject in rejects),
        rejects=rejects,
        message_ids=_message_ids(plan, chunk, results),
    )


def _ended(ends: Mapping[int, Result], outcome: Outcome) -> list[int]:
    return [position for position, result in ends.items() if result.outcome is outcome]


def _mask(positions: Iterable[int]) -> int:
    return sum(map((1).__lshift__, positions))


def _message_ids(plan: Plan, chunk: Chunk, results: Sequence[Result]) -> tuple[str, ...]:
    """Return each record's message id, empty where it has none; nothing at all for tasks."""
    ids = [result.message_id for result in results]
    if not any(ids):
        return ()
    found = dict(zip(plan.positions, ids, strict=True))
    return tuple(found.get(place, "") for place in range(len(chunk.records)))


def _reject(position: int, record: Record | Bad, reason: str) -> Reject:
    return Reject(position, record.ordinal, record.line, reason, record.file)


def left_over(
    creates: Sequence[Create], results: Sequence[Result], among: Callable[[], int]
) -> LeftOver:
    """Judge what was not taken.

    A queue that refuses all until a person has mended something is in trouble alone where most of
    those that it is `among` are not; else the job is. Where no chunk shows that, ticks do.
    """
    ends = zip(creates, results, strict=True)
    left = [(create.queue, end) for create, end in ends if end.outcome is Outcome.NOT_TAKEN]
    sick = {queue for queue, end in left if end.sick}
    broken = {queue: end.reason for queue, end in left if end.queue_at_fault and queue not in sick}
    waits = sick | broken.keys()
    if broken and 2 * len(waits) >= among():
        return LeftOver(fault=next(iter(broken.values())))
    counted = Counter((queue, end.code) for queue, end in left if queue in broken)
    if all(queue in waits for queue, _ in left):
        return LeftOver(sick=min(waits, default=""), broken=counted)
    return LeftOver(deferred=True, broken=counted)


def _among(chunk: Chunk, opened: OpenJob) -> int:
    """Count the chunk's queues, or the group's where those of the chunk are too few to tell.

    A chunk that is created in one batch has a single queue, and so has a chunk of one record.
    """
    count = len(_queues(chunk, opened.renderer))
    return count if count > TOO_FEW else max(count, opened.queues)


def _queues(chunk: Chunk, renderer: Renderer) -> Collection[str]:
    """Return the queues that the chunk's records go to."""
    found = set()
    for record in chunk.records:
        if isinstance(record, Record):
            with suppress(Rejected):
                found.add(renderer.name(record)[0])
    return found


def _seen(
    creator: Creator, results: Sequence[Result], *, seconds: float, left: LeftOver
) -> Signals:
    """Gather what the service showed; a chunk that had nothing to create shows nothing."""
    tally = Tally()
    if results:
        tally.fanned_out(seconds, deferred=left.deferred)
    for (queue, code), creates in left.broken.items():
        tally.sick(queue, code, creates=creates)
    return creator.drain_signals() + tally.drain()


def _fresh(plan: Plan, results: Sequence[Result], queues: Collection[str]) -> Signals:
    """Count the creates that were sent to queues new to the group."""
    sent = zip(plan.creates, results, strict=True)
    return Signals(fresh=sum(result.sent and create.queue in queues for create, result in sent))


def _verdict(made: Made, merged: Receipt) -> tuple[Verdict, str]:
    """Say what becomes of the injector task, and why; a chunk that is settled needs no reason."""
    if made.left.fault:
        return Verdict.PARKED, made.left.fault
    if merged.settled:
        return Verdict.SETTLED, ""
    verdict = Verdict.WAITING if made.left.sick else Verdict.OPEN
    return verdict, _missing(merged, made.results)


def _missing(receipt: Receipt, results: Sequence[Result]) -> str:
    codes = sorted({result.code for result in results if result.outcome is Outcome.NOT_TAKEN})
    missing = receipt.open_mask.bit_count()
    return f"{missing} of {receipt.records} records are not taken yet: {', '.join(codes)}"
