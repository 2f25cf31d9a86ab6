"""What every way of creating tasks takes and answers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Token:
    """The identity a task shows its target: an OIDC or an OAuth token.

    `kind` is "oidc" or "oauth"; `scope` is the audience of the one, the scope of the other.
    """

    kind: str
    service_account: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class TaskTemplate:
    """What all tasks of a job share.

    `method` is an HTTP method name. `headers` are those that do not vary.
    `dispatch_deadline_s` is in seconds; None leaves it to the service (10 minutes).
    """

    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    token: Token | None = None
    dispatch_deadline_s: float | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """One task to create: where, under which id, and what it will request.

    `queue` is the full resource name. `headers` are the ones that vary by record; they join
    the template's. `schedule_time` is in Unix seconds; None means at once. `body` is sent
    byte for byte.
    """

    queue: str
    task_id: str
    url: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    schedule_time: float | None = None
    template: TaskTemplate = field(default_factory=TaskTemplate)


class Outcome(Enum):
    """How a create ended: taken (created, existed), refused for good, or not taken."""

    CREATED = "created"
    EXISTED = "existed"
    REJECTED = "rejected"
    NOT_TAKEN = "not_taken"


@dataclass(frozen=True, slots=True)
class Result:
    """A create's end. `code` is the gRPC status name; `reason` is empty when it was taken."""

    outcome: Outcome
    code: str = "OK"
    reason: str = ""


class Creator(Protocol):
    """Creates tasks."""

    def create_all(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create each task and return the results in the order of `creates`.

        Never raises for what the service answers: a create that was not taken within
        `budget_s` seconds is NOT_TAKEN. May be called from several threads at once.
        """
