"""What a job will take, before it runs: steps of the ramp, time to create, queues, money."""

import math
from dataclasses import dataclass, replace

from injector.pacing.plan import queues_needed
from injector.pacing.ramp import CHUNK, Ramp

BILLING_UNIT = 32 * 1024
FREE_OPERATIONS = 1_000_000
USD_PER_MILLION = 0.40
USD_PER_TIB = 40.0
FREE_BYTES = 10 * 2**30
LEAST_REQUEST = 1000
MESSAGE_ID_AND_TIME = 40
"""Bytes of a message's id and of its time, which Pub/Sub prices like its data."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the ramp: when it begins, its rates, and the records created before it."""

    at_s: float
    injector_rate: float
    create_rate: float
    records_before: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job will take on its group's curve when all is well.

    `steps` are those that change the rate. `queues_needed` dispatch as fast as the job creates
    at its peak. `operations` are billable ones: creates and first dispatches, those of the
    injector tasks too, in units of 32 KiB. `published_bytes` is what Pub/Sub prices of messages:
    nothing for tasks.
    """

    records: int
    chunks: int
    seconds: float
    steps: tuple[Step, ...]
    queues_needed: int
    operations: int
    published_bytes: int = 0

    @property
    def peak_create_rate(self) -> float:
        """Return the highest create rate that the job reaches, in tasks per second."""
        return self.steps[-1].create_rate if self.steps else 0.0

    @property
    def cost_usd(self) -> float:
        """Return the price of the operations when the month's free million is unused."""
        operations = max(0, self.operations - FREE_OPERATIONS) * USD_PER_MILLION / 1_000_000
        return operations + max(0, self.published_bytes - FREE_BYTES) * USD_PER_TIB / 2**40


def estimate_messages(
    records: int, ramp: Ramp, *, message_bytes: float, rejected: int = 0
) -> Estimate:
    """Estimate a job whose records become messages of that mean size: no queues, and volume.

    The volume is that of publishing; each subscription that delivers adds as much again.
    """
    found = estimate(records, ramp, task_bytes=0, rejected=records)
    published = (records - rejected) * (message_bytes + MESSAGE_ID_AND_TIME)
    at_least = found.chunks * LEAST_REQUEST if records > rejected else 0
    return replace(found, queues_needed=0, published_bytes=max(at_least, round(published)))


def estimate(records: int, ramp: Ramp, *, task_bytes: float, rejected: int = 0) -> Estimate:
    """Estimate a job of so many records, the rejected ones too, for they keep their place.

    `task_bytes` is the mean size of a task.
    """
    chunks = math.ceil(records / CHUNK)
    seconds = ramp.time_of(chunks)
    steps = _steps(ramp, seconds) if records else ()
    peak = steps[-1].create_rate if steps else 0.0
    units = max(1, math.ceil(task_bytes / BILLING_UNIT))
    return Estimate(
        records=records,
        chunks=chunks,
        seconds=seconds,
        steps=steps,
        queues_needed=queues_needed(peak),
        operations=2 * ((records - rejected) * units + chunks),
    )


def _steps(ramp: Ramp, seconds: float) -> tuple[Step, ...]:
    last = min(ramp.steps_to_cap(), math.ceil(seconds / ramp.interval_s) - 1)
    starts = [step * ramp.interval_s for step in range(max(0, last) + 1)]
    return tuple(
        Step(at, ramp.rate_at(at), ramp.rate_at(at) * CHUNK, round(ramp.total_by(at) * CHUNK))
        for at in starts
    )
