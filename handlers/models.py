"""What the API takes and answers: checked by these models, and documented from them.

Times are Unix seconds; rates are in creates per second, except those of a ramp, which are in
injector tasks per second, each worth a hundred creates.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from injector.ledger.ports import JobState
from injector.manifest.schema import SHARE_OR_COUNT
from injector.staging.attempt import NAME

MOST = 2**53
"""The largest number that every reader of JSON keeps whole."""


def _whole(value: object) -> object:
    """Take 3.0 for 3, as JSON Schema does."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Count = Annotated[int, Field(ge=0, le=MOST), BeforeValidator(_whole)]


class Asked(BaseModel):
    """What a caller sends: no key is unknown, and no type is guessed."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, use_attribute_docstrings=True
    )


class Shown(BaseModel):
    """What is answered."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Problem(Shown):
    """Why a request failed (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class StagedAs(Asked):
    """What the caller says of the staging: where it is, and what is in it."""

    store: str
    records: Count
    chunks: Count
    rejected: Count
    digest: str


class Submission(Asked):
    """A job to register; `parent` is the job whose records it sends again, if there is one."""

    manifest: dict[str, JsonValue]
    """The manifest; its schema is the component Manifest."""
    staged: StagedAs
    parent: str = ""
    keeps_names: bool = False
    """Name the tasks as the parent did, so that none that it created is created twice."""


class Change(Asked):
    """What to change of a job; what is left out stays."""

    max_rate: Annotated[float, Field(gt=0, le=10_000_000, allow_inf_nan=False)] | None = None
    """Creates per second; null leaves the rate to the group."""
    weight: Annotated[float, Field(ge=0.01, le=1000, allow_inf_nan=False)] = 1.0
    """The share among jobs of the same priority in the group."""
    priority: Annotated[int, Field(ge=-100, le=100), BeforeValidator(_whole)] = 0
    """Jobs of a higher priority go first."""
    stop_when_rejected: Annotated[str, Field(pattern=f"^({SHARE_OR_COUNT})$")] = "1%"
    """The share or count of rejects above which the job pauses itself."""


class Nothing(Asked):
    """A body that says nothing more."""


class Cancel(Asked):
    """How to cancel."""

    take_back: bool = False
    """Delete the tasks that wait in the queues, too."""


class RampShown(Shown):
    """A group's ramp; `dangers` names in what it is steeper than 500/50/5."""

    initial_rate: float
    growth: float
    interval_s: float
    max_rate: float
    warm_rate: float | None
    unsafe: bool
    dangers: list[str]


class TakenBack(Shown):
    """How far the tasks of a cancelled job are taken back."""

    deleted: int
    """Tasks that had waited."""
    gone: int
    """Tasks that had run, or were never created."""
    chunks_done: int
    chunks: int
    done: bool


class SickShown(Shown):
    """A queue that takes no creates while most of its group's do; what is for it waits."""

    queue: str
    since: float
    seen: float
    """When it refused last."""
    code: str
    """How it refuses."""


class JobShown(Shown):
    """A job."""

    id: str
    group: str
    state: JobState
    reason: str
    """Why it is in its state, when it is so by itself."""
    fault: str
    """What keeps its group from more."""
    records: int
    chunks: int
    created: int
    existed: int
    rejected: int
    staged_rejects: int
    """Records that staging found bad; `rejected` counts them once their chunks have run."""
    settled: int
    """Records that have an outcome."""
    rejects_allowed: int
    """The job pauses itself above so many rejects."""
    fed: int
    """Chunks that were fed."""
    chunks_settled: int
    waiting: int
    """Chunks whose open records wait for queues that take nothing; 0 once the job has ended."""
    waits_for: list[SickShown]
    """Those queues, as far as a tick has seen them refuse."""
    weight: float
    priority: int
    max_rate: float | None
    parent: str
    """The job whose records this one sends again; empty for a job of its own."""
    redrives: int
    """How often its rejects were sent again."""
    taken_back: TakenBack | None
    digest: str
    """The SHA-256 of the source."""
    store: str
    version: int
    """Grows with each change of state or settings; the ETag."""
    registered_at: float
    started_at: float | None
    finished_at: float | None
    ramp: RampShown | None
    rate_now: float | None
    rate_allowed: float | None
    eta_s: float | None
    why: str
    """What sets its pace: its own limit, a pause, other jobs, or the last tick's reason."""


class JobList(Shown):
    """Jobs, newest first; `next` is the `after` of the next page."""

    jobs: list[JobShown]
    next: str | None


class Redriven(Shown):
    """How many records are open again."""

    opened: int
    job: JobShown


class RejectShown(Shown):
    """A record that was refused for good."""

    position: int
    ordinal: int
    line: int
    reason: str
    file: str


class RejectList(Shown):
    """Rejects in the source's order; `next` is the `after` of the next page."""

    rejects: list[RejectShown]
    next: int | None


class AuditShown(Shown):
    """Who changed what of a job, from what, to what."""

    at: float
    job: str
    who: str
    what: str
    old: str
    new: str
    reason: str


class AuditList(Shown):
    """Changes, newest first; `next` is the `after` of the next page."""

    changes: list[AuditShown]
    next: int | None


class DecisionShown(Shown):
    """A decision of the controller."""

    at: float
    action: str
    rate: float
    concurrency: int
    reason: str
    evidence: dict[str, JsonValue]
    """What it saw; empty where that is not known."""


class TickShown(Shown):
    """What the last tick said of a group."""

    at: float
    kind: str
    reason: str
    notices: list[str]
    fault: str


class GroupShown(Shown):
    """A queue group; `queues` counts them."""

    name: str
    injector_queues: list[str]
    queues: int
    topic: str | None
    ramp: RampShown
    rate_now: float | None
    rate_allowed: float | None
    state: dict[str, JsonValue]
    growth: dict[str, JsonValue]
    """Its queues by expression: `warm` ones, and `fresh` ones with their own `ramp`."""
    last_tick: TickShown
    sick: list[SickShown]
    jobs: list[str]
    """Its running and paused jobs."""


class GroupList(Shown):
    """The groups."""

    groups: list[GroupShown]


class GroupWithDecisions(GroupShown):
    """A group with its latest decisions, newest first."""

    decisions: list[DecisionShown]


class QueueShown(Shown):
    """A queue as Cloud Tasks has it, or what is wrong with it."""

    name: str
    state: str
    rate: float | None
    concurrency: int | None
    waiting: int | None
    """Tasks in it some minutes ago, at most six; None where nobody measures it."""
    problem: str
    """Empty when it can be used."""


class QueueList(Shown):
    """The queues of a group, its injector queues first."""

    queues: list[QueueShown]


class LackShown(Shown):
    """A permission that the service lacks on a queue or bucket, and the least role that has it."""

    resource: str
    permission: str
    role: str


class RightsShown(Shown):
    """What the service may not do; nothing where all is well."""

    lacks: list[LackShown]


class Summary(Shown):
    """A job accounted for, as a whole."""

    job: JobShown
    open: int
    """Records without an outcome."""
    adds_up: bool
    """Whether each record has exactly one outcome, or the job still goes on."""
    took_s: float | None
    operations: int
    """Billable operations, if each task was small and ran once; those of injector tasks too."""
    cost_usd: float
    """Their price, but for a month's free million."""
    ramp_history: list[DecisionShown]
    """The controller's decisions while the job ran, oldest first."""
    rejects_by_reason: dict[str, int]
    """The first reasons with how many of the first rejects they have."""


class JobsQuery(Asked):
    """Which jobs."""

    state: Literal["", "running", "paused", "cancelled", "finished", "failed"] = ""
    staging: Annotated[
        str, Field(pattern=f"^({NAME.pattern})?$", examples=["001764547200-1a2b3c4d"])
    ] = ""
    """The name of the folder with its chunks, the last part of `store`."""
    after: str = ""
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class RejectsQuery(Asked):
    """Which rejects."""

    after: Annotated[int, Field(ge=-1, le=MOST)] = -1
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=1000)] = 1000


class AuditQuery(Asked):
    """Which changes: so many, older than the one that `after` names; 0 begins with the newest."""

    after: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class ReportQuery(Asked):
    """Which rows of a report."""

    all: Literal["", "false", "true"] = ""
    """Whether records that were plainly created have a row."""
    first: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    """The chunk to begin at."""
    chunks: Annotated[int, Field(ge=1, le=2**31 - 1)] = 2**31 - 1
    """How many chunks to report."""


class Ticked(Shown):
    """What a tick did."""

    status: Literal["ticked", "busy"]
    groups: list[dict[str, JsonValue]]


class Delivered(Shown):
    """What became of an injector task."""

    status: str
    reason: str
    created: int = 0
    existed: int = 0
    rejected: int = 0


class Health(Shown):
    """How the process is."""

    status: str
