"""The slots of a group: when its injector tasks are due on the curve, and which job has which."""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from injector.control.share import Claim, deal
from injector.ledger.ports import Chunks, Job


class Curve(Protocol):
    """How many injector tasks are allowed by when, in seconds since the curve began."""

    def total_by(self, t: float) -> float:
        """Return how many are allowed in the first `t` seconds."""

    def time_of(self, n: float) -> float:
        """Return the second at which `n` are allowed."""

    def rate_at(self, t: float) -> float:
        """Return the rate at second `t`."""


@dataclass(frozen=True, slots=True)
class Pace:
    """A curve that began at `origin`, in Unix seconds; `rate` is what it allows now."""

    curve: Curve
    origin: float
    rate: float

    def total_by(self, t: float) -> float:
        """Return how many injector tasks are allowed by Unix second `t`."""
        return self.curve.total_by(t - self.origin)

    def time_of(self, n: float) -> float:
        """Return the Unix second at which `n` injector tasks are allowed."""
        return self.origin + self.curve.time_of(n)

    def rate_at(self, t: float) -> float:
        """Return how many injector tasks a second are allowed at Unix second `t`."""
        return self.curve.rate_at(t - self.origin)


@dataclass(frozen=True, slots=True)
class Mark:
    """How far a group is fed: `slots` were dealt in all, the last one due at `until`.

    `generations` are the least ones of its jobs at that time, by job; those that are 0 are left
    out. A job that has another now was recalled since.
    """

    until: float = 0.0
    slots: int = 0
    generations: Mapping[str, int] = field(default_factory=dict)

    def recalled(self, jobs: Iterable[Job]) -> frozenset[str]:
        """Return the jobs that were recalled since."""
        known = self.generations
        return frozenset(job.id for job in jobs if job.generation > known.get(job.id, 0))

    def onwards(self, dealt: "Mark", jobs: Iterable[Job], *, no_later: float) -> "Mark":
        """Return the mark after a feed that `dealt`; what was dealt before stays dealt.

        An end beyond `no_later` is one of a clock that was set back since.
        """
        until = max(dealt.until, self.until if self.until <= no_later else 0.0)
        found = {job.id: job.generation for job in jobs if job.generation}
        return Mark(until, dealt.slots, found)


@dataclass(frozen=True, slots=True)
class Order:
    """The chunks that a job wants fed, in this order: what was lost before what is new.

    `under_way` counts those that are fed and neither settled nor waiting; `limited` says that
    the job is held below the group's rate. The first `soon` of the ranges have slots of their own.
    """

    job: Job
    ranges: tuple[Chunks, ...]
    under_way: int = 0
    limited: bool = False
    soon: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A place on the curve: who has it, and when it is due, in Unix seconds."""

    job: str
    due: float


def due_times(pace: Pace, mark: Mark, *, now: float, ahead_s: float) -> list[float]:
    """Return when the next slots within the horizon are due, evenly on the curve.

    They go on where the last feed ended. After a gap they begin now: what was missed is not
    caught up. So they do when the last feed ended further ahead than any feed goes, which only
    a clock that was set back since can show.
    """
    first = pace.total_by(now)
    if pace.origin < mark.until <= now + 2 * ahead_s:
        first = max(first, pace.total_by(mark.until) + 1)
    count = math.floor(pace.total_by(now + ahead_s) - first) + 1
    return [pace.time_of(first + number) for number in range(count)]


def deal_slots(
    times: Sequence[float],
    orders: Sequence[Order],
    *,
    rate_at: Callable[[float], float],
    first: int,
) -> list[Slot]:
    """Deal the slots to the jobs; empty ones at the end are left to the next feed.

    A job's own limit is a part of the rate at which a slot is due, which grows within a feed.
    """
    left = {order.job.id: count_of(order.ranges) - order.soon for order in orders}
    owners: list[str] = []
    for rate, dues in groupby(times, key=rate_at):
        claims = [_claim(order.job, left[order.job.id], rate) for order in orders]
        dealt = deal(claims, first=first + len(owners), slots=len(list(dues)))
        for owner in filter(None, dealt):
            left[owner] -= 1
        owners += dealt
    while owners and not owners[-1]:
        owners.pop()
    return [Slot(job, due) for job, due in zip(owners, times, strict=False)]


def soon_slots(orders: Sequence[Order], *, now: float, span_s: float) -> list[Slot]:
    """Return the slots of those that are not to wait for their turn, evenly over the span."""
    jobs = [order.job.id for order in orders for _ in range(order.soon)]
    return [Slot(job, now + span_s * n / len(jobs)) for n, job in enumerate(jobs)]


def without_dealt(
    slots: Sequence[Slot], orders: Sequence[Order], recalled: Collection[str], *, until: float
) -> Iterator[Slot]:
    """Leave those up to `until` out that jobs had before, evenly; those recalled have none left.

    What is under way of a job and not recalled is in slots of its own up to then.
    """
    dealt = Counter(slot.job for slot in slots if slot.due <= until)
    had = {each.job.id: 0 if each.job.id in recalled else each.under_way for each in orders}
    seen: Counter[str] = Counter()
    for slot in slots:
        if slot.due > until or not slot.job:
            yield slot
            continue
        count, seen[slot.job] = dealt[slot.job], seen[slot.job] + 1
        more = max(0, count - had[slot.job])
        if seen[slot.job] * more // count > (seen[slot.job] - 1) * more // count:
            yield slot


def _claim(job: Job, left: int, rate: float) -> Claim:
    cap = 1.0 if job.max_rate is None else job.max_rate / rate
    return Claim(job.id, left, job.weight, job.priority, cap)


def count_of(ranges: Iterable[Chunks]) -> int:
    """Count the chunks of the ranges."""
    return sum(chunks.past - chunks.first for chunks in ranges)
