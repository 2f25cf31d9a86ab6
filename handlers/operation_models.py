"""What the API's routes for operations on groups take and answer, as models.py has it."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue

from handlers.models import Asked, Shown


class NewOperation(Asked):
    """An operation to begin; its fields are those of its kind."""

    kind: Annotated[str, Field(pattern="^[a-z][a-z-]{0,40}$")]
    """Such as ramp, resume, spread or keep-warm."""
    spec: dict[str, JsonValue] = Field(default_factory=dict)
    """What is asked for; `queues` are the group's, unless some are named."""


class OperationShown(Shown):
    """An operation on a group."""

    id: str
    kind: str
    group: str
    spec: dict[str, JsonValue]
    who: str
    state: Literal["running", "paused", "done", "failed", "rolled_back", "cancelled"]
    step: int
    steps: int
    """How many there will be; 0 while that is not known."""
    reason: str
    acts: int
    """Changes that the last step takes."""
    acts_done: int
    started_at: float
    next_at: float | None
    """When it is looked at again."""
    ends_at: float | None
    """When it will end if all goes well."""
    ended_at: float | None
    version: int
    """Grows with each step and each change of state; the ETag."""
    rates_before: dict[str, float]
    """What each queue was set to when it began, for a kind that changes rates."""


class OperationList(Shown):
    """Operations, newest first."""

    operations: list[OperationShown]


class PlannedStepShown(Shown):
    """A step of a plan, in seconds from its start."""

    at_s: float
    what: str
    figures: dict[str, JsonValue]


class LineShown(Shown):
    """A curve of a plan: values over seconds."""

    name: str
    points: list[tuple[float, float]]


class PlanShown(Shown):
    """What an operation would do."""

    figures: dict[str, str]
    steps: list[PlannedStepShown]
    title: str
    """What the curves measure."""
    lines: list[LineShown]
    warnings: list[str]
    seconds: float | None


class OperationsQuery(Asked):
    """Which operations."""

    group: str = ""
    limit: Annotated[int, Field(ge=1, le=1000)] = 100


class KeptWarm(Shown):
    """That a task of a keep-warm stream has arrived."""

    status: str
    operation: str
