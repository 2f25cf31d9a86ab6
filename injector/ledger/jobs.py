"""The jobs: what was asked for, how far each is, and what people changed."""

import builtins
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict
from functools import partial

from sqlalchemy import Connection, Select, select

from injector.errors import Conflict, NotFound
from injector.ledger import feeds, redrives, waits
from injector.ledger.changes import Act, note, set_state, tune
from injector.ledger.database import Database
from injector.ledger.deletion import hide, sweep
from injector.ledger.lookup import COLUMNS, clean, find, job_of, load_job
from injector.ledger.notices import add_notice
from injector.ledger.pins import load_pins, pin
from injector.ledger.registry import check_id, same_or_conflict
from injector.ledger.statements import add_new
from injector.ledger.tables import audit, jobs, rejects
from injector.ledger.totals import totals
from injector.ledger.values import (
    UNDER_WAY,
    AuditLine,
    Chunks,
    Job,
    JobState,
    NewJob,
    Pin,
    Reject,
    Totals,
    Tuning,
)


class JobTable:
    """The jobs, as `injector.ledger.ports.Jobs` describes them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def register(self, job: NewJob, *, now: float, who: str = "") -> bool:
        """Add the job and return True, or False when it is there with the same content."""
        check_id(job.id)
        return self._database.write(partial(_register, job=job, act=Act(now, who)))

    def get(self, job_id: str) -> Job:
        """Return the job."""
        return self._database.read(partial(load_job, job_id=job_id))

    def list(
        self, *, after: str = "", limit: int = 100, state: JobState | None = None, staging: str = ""
    ) -> Sequence[Job]:
        """Return jobs, newest first, from the one after the job `after` on."""
        return self._database.read(
            partial(_list, after=after, limit=limit, state=state, staging=staging)
        )

    def set_state(  # noqa: PLR0913
        self,
        job_id: str,
        state: JobState,
        reason: str,
        *,
        now: float,
        who: str = "",
        expected_version: int | None = None,
    ) -> Job:
        """Change the state and write an audit line; a state it already has changes nothing."""
        act = Act(now, who, reason, expected_version)
        return self._database.write(partial(set_state, job_id=job_id, state=state, act=act))

    def tune(  # noqa: PLR0913
        self,
        job_id: str,
        tuning: Tuning,
        *,
        now: float,
        who: str = "",
        expected_version: int | None = None,
        recall: Collection[str] = (),
    ) -> Job:
        """Change what may be tuned, with an audit line for each that differs."""
        act = Act(now, who, expected_version=expected_version)
        return self._database.write(
            partial(_tune, job_id=job_id, tuning=tuning, act=act, recalled=recall)
        )

    def recall(self, job_id: str, generation: int) -> None:
        """Have all that was fed under generations up to this one fed again."""
        self._database.write(partial(_recall, job_id=job_id, generation=generation))

    def totals(self, job_id: str) -> Totals:
        """Add up the job at a cost that does not depend on its size."""
        return self._database.read(partial(totals, job_id=job_id))

    def active(self, group: str) -> Sequence[Job]:
        """Return the group's running and paused jobs, in feeding order."""
        return self._database.read(partial(_active, group=group, states=UNDER_WAY))

    def runnable(self, group: str) -> Sequence[Job]:
        """Return the running jobs with chunks left to feed, in feeding order."""
        running = frozenset({JobState.RUNNING})
        active = self._database.read(partial(_active, group=group, states=running))
        return [job for job in active if job.cursor < job.chunks]

    def advance(self, job_id: str, chunks: Chunks, *, scheduled_until: float, now: float) -> bool:
        """Move the cursor over chunks that were fed; False when it is elsewhere."""
        return self._database.write(
            partial(
                feeds.advance,
                job_id=job_id,
                chunks=chunks,
                scheduled_until=scheduled_until,
                now=now,
            )
        )

    def overdue(self, job_id: str, *, before: float, limit: int) -> Sequence[Chunks]:
        """Return chunks scheduled before then that have no settled receipt."""
        survey = partial(feeds.survey, job_id=job_id, before=before, limit=limit)
        found = self._database.read(survey)
        if found.fronts:
            self._database.write(partial(feeds.shrink, fronts=found.fronts))
        return found.lost

    def refeed(
        self, job_id: str, chunks: Sequence[Chunks], *, scheduled_until: float, now: float
    ) -> int:
        """Note that overdue chunks were fed again, and return how many were noted."""
        return self._database.write(
            partial(
                feeds.refeed,
                job_id=job_id,
                chunks=chunks,
                scheduled_until=scheduled_until,
                now=now,
            )
        )

    def pin(self, names: str, past: int, layout: str) -> None:
        """Pin the chunks up to `past` that have no layout yet to this one."""
        self._database.write(partial(pin, names=names, past=past, layout=layout))

    def pins(self, names: str) -> Sequence[Pin]:
        """Return the pins in the order of their chunks."""
        return self._database.read(partial(load_pins, names=names))

    def waits_for(self, job_id: str) -> Sequence[str]:
        """Return the queues that chunks of the job wait for, sorted."""
        return self._database.read(partial(waits.queues, job_id=job_id))

    def release(self, job_id: str, queue: str, *, limit: int, now: float) -> int:
        """Make chunks that wait for the queue overdue; return how many."""
        page = partial(waits.release, job_id=job_id, queue=queue, limit=limit, now=now)
        return self._database.write(page)

    def hasten(self, job_id: str, *, now: float) -> None:
        """Make all that was fed and has no settled receipt overdue, what waits too."""
        self._database.write(partial(redrives.hasten, job_id=job_id))
        for queue in self.waits_for(job_id):
            while self.release(job_id, queue, limit=redrives.PAGE, now=now) == redrives.PAGE:
                pass

    def redrive(
        self, job_id: str, *, now: float, who: str = "", expected_version: int | None = None
    ) -> int:
        """Open the job's rejects, to be sent again, and return how many they were."""
        act = Act(now, who, expected_version=expected_version)
        job = self._database.write(partial(redrives.begin, job_id=job_id, act=act))
        opened, first = 0, 0
        while first < job.chunks:
            page = partial(redrives.open_rejected, job=job, first=first, now=now)
            count, first = self._database.write(page)
            opened += count
        return opened

    def finish(self, job_id: str, *, now: float) -> bool:
        """Finish a running or paused job whose chunks are all settled; tell whether it did."""
        job = self.get(job_id)
        if job.state not in UNDER_WAY or self.totals(job_id).chunks_settled < job.chunks:
            return False
        try:
            self.set_state(job_id, JobState.FINISHED, "", now=now)
        except Conflict:  # someone was quicker to end it
            return False
        return True

    def rejects(self, job_id: str, *, after: int = -1, limit: int = 100) -> Sequence[Reject]:
        """Return rejects in the source's order, from the first ordinal beyond `after` on."""
        return self._database.read(partial(_rejects, job_id=job_id, after=after, limit=limit))

    def audit(
        self, job_id: str, *, limit: int = 100, before: int | None = None
    ) -> Sequence[AuditLine]:
        """Return the newest changes first, whether or not there is, or was, such a job."""
        c = audit.c
        query = (
            select(c.at, c.job, c.who, c.what, c.old, c.new, c.reason, c.id)
            .where(c.job == clean(job_id))
            .order_by(c.id.desc())
            .limit(limit)
        )
        if before is not None:
            query = query.where(c.id < before)
        rows = self._database.read(lambda connection: connection.execute(query).all())
        return [AuditLine(*row) for row in rows]

    def delete(
        self, job_id: str, *, now: float, who: str = "", expected_version: int | None = None
    ) -> None:
        """Remove the job and all that is kept of it but its audit lines."""
        act = Act(now, who, expected_version=expected_version)
        self._database.write(partial(hide, job_id=job_id, act=act))
        sweep(self._database)


def _register(connection: Connection, *, job: NewJob, act: Act) -> bool:
    row = asdict(job) | {
        "queue_group": job.group,
        "state": JobState.RUNNING.value,
        "reason": "",
        "cursor": 0,
        "version": 1,
        "registered_at": act.at,
    }
    del row["group"], row["notify"]
    if not add_new(connection, jobs, row):
        same_or_conflict(load_job(connection, job.id), job)
        return False
    add_notice(connection, find(connection, job.id).key, job.notify)
    note(connection, act.line(job.id, "registered", "", JobState.RUNNING))
    return True


def _tune(
    connection: Connection, *, job_id: str, tuning: Tuning, act: Act, recalled: Collection[str]
) -> Job:
    in_turn = sorted({job_id, *recalled})  # all lock them in the same order
    locked = list(_locked(connection, in_turn, needed=job_id))
    tune(connection, job_id=job_id, tuning=tuning, act=act)
    for job in locked:
        if job.id in recalled:
            feeds.recall(connection, job, job.generation)
    return load_job(connection, job_id)


def _locked(connection: Connection, ids: Iterable[str], *, needed: str) -> Iterator[Job]:
    """Lock the jobs; others than the one that is needed may be deleted by now."""
    for each in ids:
        try:
            yield load_job(connection, each, lock=True)
        except NotFound:
            if each == needed:
                raise


def _recall(connection: Connection, *, job_id: str, generation: int) -> None:
    feeds.recall(connection, load_job(connection, job_id, lock=True), generation)


def _list(
    connection: Connection, *, after: str, limit: int, state: JobState | None, staging: str
) -> builtins.list[Job]:
    query = _jobs().order_by(jobs.c.key.desc()).limit(limit)
    if after:
        query = query.where(jobs.c.key < find(connection, after).key)
    if state is not None:
        query = query.where(jobs.c.state == state.value)
    if staging:
        query = query.where(jobs.c.store.endswith(f"/{staging}", autoescape=True))
    return [job_of(row) for row in connection.execute(query)]


def _active(
    connection: Connection, *, group: str, states: frozenset[JobState]
) -> builtins.list[Job]:
    query = _jobs().where(
        jobs.c.queue_group == group, jobs.c.state.in_([state.value for state in states])
    )
    order = (jobs.c.priority.desc(), jobs.c.weight.desc(), jobs.c.key)
    return [job_of(row) for row in connection.execute(query.order_by(*order))]


def _jobs() -> Select[*tuple[object, ...]]:
    return select(*COLUMNS).where(jobs.c.id.is_not(None))


def _rejects(
    connection: Connection, *, job_id: str, after: int, limit: int
) -> builtins.list[Reject]:
    c = rejects.c
    query = (
        select(c.position, c.ordinal, c.line, c.reason, c.file)
        .where(c.job == find(connection, job_id).key, c.ordinal > after)
        .order_by(c.ordinal)
        .limit(limit)
    )
    return [Reject(*row) for row in connection.execute(query)]
