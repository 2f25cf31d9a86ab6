"""A task in a queue, kept small: a million of them may wait."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from injector.emulator.state.limits import RetryConfig

NOT_QUEUED = -1.0


class Task:
    """A task that is waiting or being attempted.

    `form` is the serialized task as the service keeps it, without its schedule time and
    counts; it is empty once the task is gone. `due` is the time of its valid entry in the
    queue, or NOT_QUEUED; `in_line` tells whether that entry is in the queue's line. Times are
    Unix seconds.
    """

    __slots__ = (
        "created_at",
        "dispatch_count",
        "due",
        "executions",
        "first_dispatch_at",
        "form",
        "generated",
        "id",
        "in_flight",
        "in_line",
        "last",
        "previous_status",
        "response_count",
        "retry",
        "schedule_at",
        "seq",
        "to_app_engine",
    )

    def __init__(self, task_id: str, form: bytes, schedule_at: float, created_at: float) -> None:
        self.id = task_id
        self.form = form
        self.schedule_at = schedule_at
        self.created_at = created_at
        self.due = NOT_QUEUED
        self.seq = 0
        self.generated = False
        self.to_app_engine = False
        self.retry: RetryConfig | None = None
        self.dispatch_count = 0
        self.response_count = 0
        self.executions = 0
        self.in_flight = 0
        self.in_line = False
        self.first_dispatch_at = 0.0
        self.previous_status: int | None = None
        self.last: LastAttempt | None = None

    @property
    def is_gone(self) -> bool:
        """Tell whether the task has finished or was deleted."""
        return not self.form


@dataclass(frozen=True, slots=True)
class LastAttempt:
    """The latest attempt of a task; `responded_at` is None while it runs.

    `status` is the HTTP status, and None when no answer came.
    """

    schedule_at: float
    dispatch_at: float
    responded_at: float | None = None
    status: int | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One dispatch of a task: what the dispatcher has to send.

    `number` counts from 0. `forced` attempts come from RunTask: they spend no token and take
    no place.
    """

    task: Task
    number: int
    schedule_at: float
    dispatch_at: float
    forced: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended: an HTTP status, or none because it timed out or never connected."""

    status: int | None = None
    timed_out: bool = False
    retry_after_s: float = 0.0

    @property
    def is_success(self) -> bool:
        """Tell whether the target took the task."""
        return self.status is not None and 200 <= self.status < 300
