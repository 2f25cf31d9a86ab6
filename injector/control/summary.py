"""A job accounted for as a whole: sums, times, price, and how its ramp went."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from injector.estimate import FREE_OPERATIONS, USD_PER_MILLION
from injector.ledger.ports import Job, LedgerPort, RampDecision

DECISIONS = 1000
REJECTS = 1000
REASONS = 20


@dataclass(frozen=True, slots=True)
class Account:
    """What a report says of the job as a whole; see `injector report`."""

    open: int
    adds_up: bool
    took_s: float | None
    operations: int
    cost_usd: float
    ramp_history: Sequence[RampDecision]
    rejects_by_reason: dict[str, int]


def account(ledger: LedgerPort, job: Job) -> Account:
    """Add the job up; the price is that of tasks of up to 32 KiB which each ran once.

    Messages are priced by volume, which is not kept, so only their injector tasks count.
    """
    totals = ledger.jobs.totals(job.id)
    tasks = 0 if _publishes(job) else totals.created
    operations = 2 * (tasks + totals.fed)
    took_s = job.finished_at - job.started_at if job.finished_at and job.started_at else None
    reasons = Counter(one.reason for one in ledger.jobs.rejects(job.id, limit=REJECTS))
    return Account(
        open=job.records - totals.settled,
        adds_up=job.state != "finished" or totals.settled == job.records,
        took_s=took_s,
        operations=operations,
        cost_usd=price(operations),
        ramp_history=_history(ledger, job),
        rejects_by_reason=dict(reasons.most_common(REASONS)),
    )


def _publishes(job: Job) -> bool:
    return bool(json.loads(job.manifest_json).get("message"))


def price(operations: int) -> float:
    """Return the price of so many operations, the month's free million apart."""
    return round(max(0, operations - FREE_OPERATIONS) * USD_PER_MILLION / 1_000_000, 4)


def _history(ledger: LedgerPort, job: Job) -> list[RampDecision]:
    """Return the decisions that fell while the job ran, oldest first."""
    newest_first = ledger.groups.decisions(job.group, limit=DECISIONS)
    until = float("inf") if job.finished_at is None else job.finished_at
    return [each for each in newest_first if job.registered_at <= each.at <= until][::-1]
