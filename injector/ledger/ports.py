"""What the ledger can be asked, and the values that it takes and gives.

Times are Unix seconds as floats. Every call may raise `Retryable` (the database is busy or
away) and `Misused` (it is read-only, full, or of another version); what else it raises is
said where it does. Nothing here holds a transaction open between calls.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from injector.delivery.ports import Outcome
from injector.ledger.answering import Answers
from injector.ledger.taking_back import TakeBacks
from injector.ledger.telling import EventMarks, Notices
from injector.ledger.values import (
    AuditLine,
    Chunks,
    Given,
    GroupState,
    Job,
    JobState,
    Minute,
    NewJob,
    Notice,
    Pin,
    RampDecision,
    Receipt,
    Reject,
    Selection,
    TakeBack,
    Totals,
    Tuning,
    Wait,
)
from injector.operations.values import Operation

__all__ = [
    "Answers",
    "AuditLine",
    "Chunks",
    "Given",
    "GroupState",
    "Groups",
    "Job",
    "JobState",
    "Jobs",
    "Leases",
    "LedgerPort",
    "Minute",
    "NewJob",
    "Notice",
    "Operations",
    "Pin",
    "RampDecision",
    "Receipt",
    "Receipts",
    "Reject",
    "Selection",
    "SignalLog",
    "TakeBack",
    "TakeBacks",
    "Totals",
    "Tuning",
    "Wait",
]


class Jobs(Protocol):
    """The jobs. Whatever names a job raises `NotFound` when there is none of that id."""

    def register(self, job: NewJob, *, now: float, who: str = "") -> bool:
        """Add the job and return True, or return False when it is there with the same content.

        Raises `Conflict` that names what differs when the id is taken by other content.
        """

    def get(self, job_id: str) -> Job:
        """Return the job."""

    def list(
        self, *, after: str = "", limit: int = 100, state: JobState | None = None, staging: str = ""
    ) -> Sequence[Job]:
        """Return jobs, newest first, from the one after the job `after` on.

        Only those in that state, and only those whose chunks are in a folder of the name
        `staging`, whatever the store is called: empty asks for neither.
        """

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
        """Change the state and write an audit line; a state it already has changes nothing.

        Raises `Conflict` when the state cannot follow the present one, and `Outdated` when the
        job is not at `expected_version` any more; None does not ask. A job that ends has its
        notice due.
        """

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
        """Change weight, priority, rate limit and allowed rejects, each with an audit line.

        With it, what was fed of the jobs named in `recall` is recalled. Raises `Outdated` as
        `set_state` does.
        """

    def recall(self, job_id: str, generation: int) -> None:
        """Make overdue what was fed under generations up to this one, to go under a new one.

        Injector tasks of the generations before the new one are to be acknowledged, without
        what they ask for. Asked again of the same generation, it does nothing.
        """

    def totals(self, job_id: str) -> Totals:
        """Add up the job at a cost that does not depend on its size."""

    def active(self, group: str) -> Sequence[Job]:
        """Return the group's running and paused jobs, in feeding order."""

    def runnable(self, group: str) -> Sequence[Job]:
        """Return the running jobs with chunks left to feed: highest priority, then weight, first.

        Jobs of equal rank come oldest first.
        """

    def advance(self, job_id: str, chunks: Chunks, *, scheduled_until: float, now: float) -> bool:
        """Move the cursor over chunks that were fed, the last scheduled at `scheduled_until`.

        Call it after their creates. Returns False, having done nothing, when the cursor is
        not at `chunks.first`: someone else moved it.
        """

    def overdue(self, job_id: str, *, before: float, limit: int) -> Sequence[Chunks]:
        """Return at most `limit` chunks scheduled before then that have no settled receipt.

        They come as ranges in the generation to feed them under, and come again, the same,
        until `refeed` is told. Feedings found to be settled are forgotten on the way.
        """

    def refeed(
        self, job_id: str, chunks: Sequence[Chunks], *, scheduled_until: float, now: float
    ) -> int:
        """Note that overdue chunks were fed again, and return how many chunks were noted.

        Call it after their creates. Ranges that someone else refed meanwhile are passed over.
        """

    def pin(self, names: str, past: int, layout: str) -> None:
        """Pin the chunks up to `past` that have no layout yet to this one, before they are fed.

        What is pinned stays as it is. `names` is the job that the tasks are named after; it need
        not be there any more.
        """

    def pins(self, names: str) -> Sequence[Pin]:
        """Return the pins in the order of their chunks, as few as the layout has changed."""

    def waits_for(self, job_id: str) -> Sequence[str]:
        """Return the queues that chunks of the job wait for, sorted."""

    def release(self, job_id: str, queue: str, *, limit: int, now: float) -> int:
        """Let at most `limit` chunks that wait for the queue be overdue; return how many.

        Those that were fed least often go first, so that all get their turn.
        """

    def hasten(self, job_id: str, *, now: float) -> None:
        """Make all that was fed and has no settled receipt overdue, as if it were long ago.

        What waits for a queue waits no more.
        """

    def redrive(
        self, job_id: str, *, now: float, who: str = "", expected_version: int | None = None
    ) -> int:
        """Open the job's rejects, to be sent again, and return how many they were.

        The job runs again, under new generations of its chunks. Raises `Conflict` for a
        cancelled one, and `Outdated` as `set_state` does.
        """

    def finish(self, job_id: str, *, now: float) -> bool:
        """Finish a running or paused job whose chunks are all settled; tell whether it did."""

    def rejects(self, job_id: str, *, after: int = -1, limit: int = 100) -> Sequence[Reject]:
        """Return rejects in the source's order, from the first ordinal beyond `after` on."""

    def audit(
        self, job_id: str, *, limit: int = 100, before: int | None = None
    ) -> Sequence[AuditLine]:
        """Return the newest changes first, whether or not there is, or was, such a job.

        Only those older than the line with the id `before`, unless that is None.
        """

    def delete(
        self, job_id: str, *, now: float, who: str = "", expected_version: int | None = None
    ) -> None:
        """Remove the job and all that is kept of it but its audit lines.

        The id is free at once. Raises `Conflict` while the job is running or paused, and
        `Outdated` as `set_state` does.
        """


class Receipts(Protocol):
    """The receipts. Whatever names a job raises `NotFound` when there is none of that id."""

    def load(self, job_id: str, chunk: int) -> Receipt | None:
        """Return the masks of a chunk, or None when nothing of it is settled.

        Its `rejects` are empty: `Jobs.rejects` lists them.
        """

    def begin(self, job_id: str, chunk: int) -> tuple[Job, Receipt | None]:
        """Return the job and what `load` would, at the cost of one question.

        A chunk that the job does not have has no receipt.
        """

    def merge(
        self,
        receipt: Receipt,
        *,
        now: float,
        counts: Mapping[str, int] | None = None,
        wait: Wait | None = None,
    ) -> Receipt:
        """Add what was settled to what is kept, and return the whole.

        A record that has an outcome keeps it, so deliveries may come twice, in any order and
        in parts. The job's totals change in the same transaction by exactly what is new.
        `counts` joins the group's signals of this minute. With a `wait`, a chunk that is not
        settled then is not overdue before it is released.
        """

    def stream(self, job_id: str, *, first: int = 0) -> Iterator[Receipt]:
        """Yield the receipts in chunk order, masks only; chunks without one are left out."""

    def message_ids(self, job_id: str, *, first: int, past: int) -> Mapping[int, Sequence[str]]:
        """Return the message ids of those of the chunks first … past - 1 that have any."""

    def select(self, job_id: str, outcome: Outcome) -> Iterator[Selection]:
        """Yield the records that ended so, in chunk order; NOT_TAKEN stands for the missing.

        The cost is that of a walk over the job only for CREATED and NOT_TAKEN.
        """


class SignalLog(Protocol):
    """What the fan-outs of a group saw, by minute."""

    def add(self, group: str, counts: Mapping[str, int], *, now: float) -> None:
        """Add to the counts of the minute of `now`."""

    def since(self, group: str, t: float) -> Sequence[Minute]:
        """Return the minutes from the one of `t` on, oldest first; empty ones are left out."""

    def forget(self, *, before: float) -> None:
        """Remove the minutes of all groups that ended before then.

        Lays the rows of minutes just over together on the way, so that long spans of time are
        cheap to read; call it at each tick.
        """


class Groups(Protocol):
    """The ramps of the groups."""

    def state(self, group: str) -> GroupState:
        """Return what was saved last, version 0 when nothing was."""

    def save(
        self, state: GroupState, *, expected_version: int, decision: RampDecision | None = None
    ) -> bool:
        """Save the ramp, with the decision that led to it, as version `expected_version` + 1.

        Returns False, having done nothing, when the saved version is another.
        """

    def decisions(self, group: str, *, limit: int = 100) -> Sequence[RampDecision]:
        """Return the newest decisions first."""


class Leases(Protocol):
    """Turns that one process at a time may hold."""

    def acquire(self, name: str, owner: str, *, now: float, ttl_s: float) -> bool:
        """Take or renew the turn until now + ttl_s; False while another owner holds it.

        A turn that ends more than two ttl_s ahead was granted by a clock since set back, and
        counts as over.
        """

    def release(self, name: str, owner: str) -> None:
        """Give the turn back; nothing happens when another owner holds it."""


class Operations(Protocol):
    """Operations on groups. What names one raises `NotFound` when there is none of that id."""

    def begin(self, operation: Operation, *, lines: Sequence[AuditLine] = ()) -> Operation:
        """Keep a new operation.

        Raises `Conflict` that names the live one of its group and slot, if there is one.
        """

    def get(self, operation_id: str) -> Operation:
        """Return the operation."""

    def list(
        self, *, group: str = "", limit: int = 100, may_act: bool = False
    ) -> Sequence[Operation]:
        """Return operations, newest first; with `may_act` those that may still change something."""

    def open(self, group: str) -> Sequence[Operation]:
        """Return the group's operations that have something left to do, oldest first."""

    def save(
        self, operation: Operation, *, expected_version: int, lines: Sequence[AuditLine] = ()
    ) -> bool:
        """Save it with its audit lines; False, having done nothing, at another version."""

    def acted(self, operation: Operation, *, done: int) -> bool:
        """Note how many acts are done; False, having done nothing, at another version."""


class LedgerPort(Protocol):
    """The ledger's parts."""

    @property
    def jobs(self) -> Jobs:
        """The jobs."""

    @property
    def receipts(self) -> Receipts:
        """The receipts."""

    @property
    def signals(self) -> SignalLog:
        """The groups' signals."""

    @property
    def groups(self) -> Groups:
        """The groups' ramps."""

    @property
    def leases(self) -> Leases:
        """The turns."""

    @property
    def takebacks(self) -> TakeBacks:
        """The take-backs of cancelled jobs."""

    @property
    def notices(self) -> Notices:
        """The notices of jobs that have ended."""

    @property
    def event_marks(self) -> EventMarks:
        """How far topics are told of events."""

    @property
    def answers(self) -> Answers:
        """The answers to requests marked with a key."""

    @property
    def operations(self) -> Operations:
        """The operations on groups."""

    def ping(self) -> None:
        """Ask the database for an answer; raises what any call may."""

    def close(self) -> None:
        """Close this process's connections; the next call opens new ones."""
