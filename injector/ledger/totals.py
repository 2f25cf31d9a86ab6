"""How far a job is: a sum over a fixed number of rows, whatever the job's size."""

from sqlalchemy import Connection, bindparam, func, select

from injector.ledger.lookup import storable, unknown
from injector.ledger.tables import counters, jobs
from injector.ledger.values import Totals


def totals(connection: Connection, job_id: str) -> Totals:
    """Add up the job, or raise NotFound."""
    row = connection.execute(_TOTALS, {"id": job_id}).one_or_none() if storable(job_id) else None
    if row is None:
        raise unknown(job_id)
    return Totals(*(int(value) for value in row))


_TOTALS = (
    select(
        *(
            func.coalesce(func.sum(counters.c[name]), 0)
            for name in ("created", "existed", "rejected", "chunks", "waiting")
        ),
        jobs.c.cursor,
    )
    .select_from(jobs.outerjoin(counters, counters.c.job == jobs.c.key))
    .where(jobs.c.id == bindparam("id"))
    .group_by(jobs.c.key)
)
