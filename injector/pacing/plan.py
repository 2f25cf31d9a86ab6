"""What a job needs of its group, and what would be unsafe, before anything is created.

Rates of creates and dispatches are tasks per second; those of injector tasks say so.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from injector.pacing.limiter import concurrency_needed, throughput
from injector.pacing.ramp import CHUNK, QUEUE_MAX_RATE, Ramp
from injector.queue_names import so_many

API_QUOTA = 100_000.0
"""The API's default quota in requests per second: 6,000,000 a minute for project and region."""

QUEUE_MAX_CONCURRENCY = 5000


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a group's queues can dispatch: how many there are, their limits, the target's latency.

    `latency_s` is how long the target takes for a task; None when it is not known.
    """

    queues: int
    rate: float = QUEUE_MAX_RATE
    concurrency: int = 1000
    latency_s: float | None = None

    @property
    def per_queue(self) -> float:
        """Return how many tasks a second one queue dispatches (Little's law)."""
        return throughput(self.rate, self.concurrency, self.latency_s or 0.0)

    @property
    def whole(self) -> float:
        """Return how many tasks a second all of them dispatch."""
        return self.queues * self.per_queue


class About(StrEnum):
    """What an advice is about."""

    UNSAFE = "unsafe"
    QUEUES = "queues"
    CONCURRENCY = "concurrency"
    INJECTOR_QUEUES = "injector queues"
    QUOTA = "quota"


@dataclass(frozen=True, slots=True)
class Advice:
    """Something to know before the job runs, and what would do, for a person."""

    about: About
    text: str


@dataclass(frozen=True, slots=True)
class Times:
    """When a job on the curve is created, and when its last task is done, in seconds."""

    created_s: float
    finished_s: float


def queues_needed(rate: float, *, per_queue: float = QUEUE_MAX_RATE) -> int:
    """Return how many queues dispatch that many tasks a second."""
    return math.ceil(round(rate / per_queue, 9))


def within_quota(ramp: Ramp) -> Ramp:
    """Cap the curve where its creates would use up the API's quota."""
    return replace(ramp, max_rate=min(ramp.max_rate, API_QUOTA / CHUNK))


def times(records: int, ramp: Ramp, capacity: Capacity) -> Times:
    """Return how long a job takes when all is well.

    The queues hold what is created faster than they can dispatch, from the step on at which
    that begins, and go on with it after the last create.
    """
    created_s = ramp.time_of(math.ceil(records / CHUNK))
    behind_s = min(_falls_behind_s(ramp, capacity.whole), created_s)
    left = records - min(records, CHUNK * ramp.total_by(behind_s))
    finished_s = max(created_s, behind_s + left / capacity.whole) + (capacity.latency_s or 0.0)
    return Times(created_s, finished_s)


def advise(
    ramp: Ramp, capacity: Capacity, *, peak: float, injector_queues: int
) -> tuple[Advice, ...]:
    """Say what stands in a job's way whose creates reach `peak` tasks a second.

    `ramp` is the group's as it was asked for, not yet capped by queues or quota.
    """
    return (
        *_dangers(ramp),
        *_queues(capacity, peak),
        *_concurrency(capacity, peak),
        *_injector_queues(ramp, injector_queues),
        *_quota(ramp, injector_queues),
    )


def _falls_behind_s(ramp: Ramp, dispatched: float) -> float:
    """Return when the curve first creates faster than the queues dispatch; infinity if never."""
    if ramp.rate_at(ramp.steps_to_cap() * ramp.interval_s) * CHUNK <= dispatched:
        return math.inf
    if ramp.start_rate * CHUNK > dispatched:
        return 0.0
    steps = math.floor(math.log(dispatched / CHUNK / ramp.start_rate, ramp.growth) + 1e-9) + 1
    return steps * ramp.interval_s


def _dangers(ramp: Ramp) -> Iterator[Advice]:
    for danger in ramp.dangers():
        yield Advice(
            About.UNSAFE,
            f"{danger}: queues and target are given less time to adapt than 500/50/5 gives them, "
            "which shows as rising create latency, errors and a falling dispatch rate",
        )


def _queues(capacity: Capacity, peak: float) -> Iterator[Advice]:
    needed = queues_needed(peak, per_queue=min(capacity.rate, QUEUE_MAX_RATE))
    if capacity.queues < needed:
        yield Advice(
            About.QUEUES,
            f"{peak:,.0f} tasks/s need at least {so_many(needed)} of {capacity.rate:g}/s each; "
            f"the group has {capacity.queues}, and tasks will pile up in them",
        )


def _concurrency(capacity: Capacity, peak: float) -> Iterator[Advice]:
    if capacity.latency_s is None or not capacity.queues:
        return
    share = min(peak / capacity.queues, capacity.rate)
    needed = concurrency_needed(share, capacity.latency_s)
    if needed <= capacity.concurrency:
        return
    most = throughput(QUEUE_MAX_RATE, QUEUE_MAX_CONCURRENCY, capacity.latency_s)
    remedy = (
        f"set max_concurrent_dispatches to {needed:,}"
        if needed <= QUEUE_MAX_CONCURRENCY
        else f"have {so_many(queues_needed(peak, per_queue=most))} with 5,000 each"
    )
    yield Advice(
        About.CONCURRENCY,
        f"{share:,.4g} tasks/s of {capacity.latency_s:g} s each are {needed:,} at once; with "
        f"{capacity.concurrency:,} a queue reaches only {capacity.per_queue:,.4g}/s: {remedy}",
    )


def _injector_queues(ramp: Ramp, injector_queues: int) -> Iterator[Advice]:
    needed = queues_needed(ramp.max_rate)
    if injector_queues < needed:
        yield Advice(
            About.INJECTOR_QUEUES,
            f"a max_rate of {ramp.max_rate:g} injector tasks/s needs {needed} injector queues at "
            f"500/s each; the group has {injector_queues}, so it stops at "
            f"{injector_queues * QUEUE_MAX_RATE:g}/s",
        )


def _quota(ramp: Ramp, injector_queues: int) -> Iterator[Advice]:
    """Count the creates of the injector tasks themselves too."""
    requests = ramp.within(injector_queues).max_rate * (CHUNK + 1)
    if requests > API_QUOTA:
        yield Advice(
            About.QUOTA,
            f"{requests:,.0f} requests/s are over the API's quota of {API_QUOTA:,.0f}/s for "
            "project and region: ask for more, or lower max_rate to "
            f"{math.floor(API_QUOTA / (CHUNK + 1)):g}",
        )
