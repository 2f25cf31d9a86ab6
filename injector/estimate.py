"""What a job will take, before it runs: steps of the ramp, time to create, queues, money."""

import math
from dataclasses import dataclass

from injector.pacing.plan import queues_needed
from injector.pacing.ramp import CHUNK, Ramp

BILLING_UNIT = 32 * 1024
FREE_OPERATIONS = 1_000_000
USD_PER_MILLION = 0.40


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
    injector tasks too, in units of 32 KiB.
    """

    records: int
    chunks: int
    seconds: float
    steps: tuple[Step, ...]
    queues_needed: int
    operations: int

    @property
    def peak_create_rate(self) -> float:
        """Return the highest create rate that the job reaches, in tasks per second."""
        return self.steps[-1].create_rate if self.steps else 0.0

    @property
    def cost_usd(self) -> float:
        """Return the price of the operations when the month's free million is unused."""
        return max(0, self.operations - FREE_OPERATIONS) * USD_PER_MILLION / 1_000_000


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
