"""What the ledger keeps. Times are Unix seconds as floats."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class JobState(StrEnum):
    """Where a job stands.

    running ⇄ paused; either → cancelled, finished, failed; failed → running. Cancelled is for
    good, and so is finished unless its rejects are sent again.
    """

    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    FINISHED = "finished"
    FAILED = "failed"


UNDER_WAY = frozenset({JobState.RUNNING, JobState.PAUSED})
"""The states of a job that still goes on, or may."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to register.

    `rejected` counts the records that staging found bad; their chunks' receipts list them
    like all others. `max_rate` is in injector tasks per second, None leaves it to the group.
    `parent` is the job whose records this one sends again, empty for a job of its own, and
    `named_after` the job by whose id its tasks are named, empty for its own. `rejects_allowed`
    is how many rejects pause the job once passed, None leaves it to the manifest. `notify` is
    whom to tell of its end, empty for nobody.
    """

    id: str
    group: str
    manifest_json: str
    store: str
    records: int
    chunks: int
    digest: str
    rejected: int = 0
    weight: float = 1.0
    priority: int = 0
    max_rate: float | None = None
    parent: str = ""
    rejects_allowed: int | None = None
    named_after: str = ""
    notify: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """A registered job.

    `cursor` is the first chunk that was never fed. `version` grows with every change of
    state or tuning (not of the cursor). `started_at` is None until the first chunk is fed,
    `finished_at` until the job is finished, cancelled or failed. `redrives` counts how often
    its rejects were sent again. `generation` is the least one that its chunks are fed under now:
    what was fed under an earlier one is recalled. The other fields are as in NewJob.
    """

    id: str
    group: str
    manifest_json: str
    store: str
    records: int
    chunks: int
    digest: str
    rejected: int
    weight: float
    priority: int
    max_rate: float | None
    parent: str
    state: JobState
    reason: str
    cursor: int
    version: int
    registered_at: float
    started_at: float | None
    finished_at: float | None
    rejects_allowed: int | None = None
    named_after: str = ""
    redrives: int = 0
    generation: int = 0

    @property
    def ended(self) -> bool:
        """Tell whether nothing of it goes on."""
        return self.state not in UNDER_WAY

    @property
    def names(self) -> str:
        """Return the job id that its tasks are named by."""
        return self.named_after or self.id

    @property
    def tuning(self) -> "Tuning":
        """Return what may be changed of it, as it is."""
        return Tuning(self.weight, self.priority, self.max_rate, self.rejects_allowed)


@dataclass(frozen=True, slots=True)
class Tuning:
    """What may be changed on a job under way; as in NewJob."""

    weight: float = 1.0
    priority: int = 0
    max_rate: float | None = None
    rejects_allowed: int | None = None


@dataclass(frozen=True, slots=True)
class Totals:
    """How far a job is. The first three count records, the others chunks.

    `waiting` counts those whose open records wait for a queue that takes nothing.
    """

    created: int = 0
    existed: int = 0
    rejected: int = 0
    chunks_settled: int = 0
    waiting: int = 0
    fed: int = 0

    @property
    def settled(self) -> int:
        """Count the records that have an outcome."""
        return self.created + self.existed + self.rejected


@dataclass(frozen=True, slots=True)
class Chunks:
    """The chunks first … past - 1 of a job, to be fed as `generation`.

    `feed` names the feeding that lost them; only the ledger reads it.
    """

    first: int
    past: int
    generation: int
    feed: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """That a chunk, when it was fed as `generation`, had records left for a sick queue."""

    queue: str
    generation: int


@dataclass(frozen=True, slots=True)
class Pin:
    """That the chunks first … past - 1 were first fed under `layout`, in its owner's words."""

    first: int
    past: int
    layout: str


@dataclass(frozen=True, slots=True)
class Reject:
    """A record refused for good: its place in the chunk and the source, and why.

    `line` is the physical line in `file`; `file` may be empty when there is one source.
    """

    position: int
    ordinal: int
    line: int
    reason: str
    file: str = ""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a chunk's records: bit i of a mask stands for record i of the chunk.

    `message_ids` are what Pub/Sub calls the messages, one for each record and empty where there
    is none; there are none at all for tasks, and in a receipt that was read back.
    """

    job: str
    chunk: int
    records: int
    created_mask: int = 0
    existed_mask: int = 0
    rejected_mask: int = 0
    rejects: tuple[Reject, ...] = ()
    message_ids: tuple[str, ...] = ()

    @property
    def settled_mask(self) -> int:
        """Return the records that have an outcome."""
        return self.created_mask | self.existed_mask | self.rejected_mask

    @property
    def open_mask(self) -> int:
        """Return the records that have none yet."""
        return ((1 << self.records) - 1) & ~self.settled_mask

    @property
    def settled(self) -> bool:
        """Tell whether every record has an outcome."""
        return self.open_mask == 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Records of one chunk: those whose bit is set in `mask`; -1 stands for all of them."""

    chunk: int
    mask: int


@dataclass(frozen=True, slots=True)
class Minute:
    """What a group's fan-outs saw in the minute that starts at `at`, by name of the count."""

    at: float
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GroupState:
    """A group's ramp as the controller left it.

    `ramp_json` is the controller's own text, empty for a group never saved. `version` grows
    by one with each save.
    """

    group: str
    ramp_json: str = ""
    version: int = 0
    saved_at: float = 0.0


@dataclass(frozen=True, slots=True)
class RampDecision:
    """One decision of the controller. `evidence_json` is what it saw, in its own words."""

    at: float
    action: str
    rate: float
    concurrency: int
    reason: str
    evidence_json: str = ""


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Who changed what of a job, from what, to what, and why.

    `id` grows from change to change, and is 0 until the line is kept.
    """

    at: float
    job: str
    who: str
    what: str
    old: str
    new: str
    reason: str
    id: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TakeBack:
    """How far the waiting tasks of a cancelled job are deleted again.

    The chunks before `next` are done with, those before `past` are wanted. `deleted` counts
    tasks that were taken back, `gone` those that had run, or were never created. `not_before`
    is when fan-outs that were under way have ended.
    """

    job: str
    next: int
    past: int
    deleted: int
    gone: int
    not_before: float

    @property
    def done(self) -> bool:
        """Tell whether nothing is left to take back."""
        return self.next >= self.past


@dataclass(frozen=True, slots=True)
class Notice:
    """That a job has ended is to be told to `url`; `tries` is how often that failed."""

    job: str
    url: str
    tries: int


@dataclass(frozen=True, slots=True)
class Given:
    """The answer to a request that was marked with a key; `status` is None until it has one."""

    status: int | None
    body: str
