"""What every way of creating tasks takes and answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

import msgspec

from injector.groups import Retry
from injector.pacing.signals import THROTTLED, Signals


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


class Create(msgspec.Struct, frozen=True, gc=False):
    """One task to create: where, under which id, and what it will request.

    A struct, because one is made for each record: a frozen dataclass takes ten times as long,
    and this one holds nothing that the garbage collector would have to look at.

    `queue` is the full resource name. `headers` are the ones that vary by record; they join
    the template's. `schedule_time` is in Unix seconds; None means at once. `body` is sent
    byte for byte.

    A message to publish is the same to whatever stands between record and service: `queue` is
    then its topic, `task_id` its `injector-id`, `headers` are its attributes, and there is no
    `url`. Only messages have an `ordering_key`, and it may be empty.
    """

    queue: str
    task_id: str
    url: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    schedule_time: float | None = None
    template: TaskTemplate = TaskTemplate()
    ordering_key: str = ""

    @property
    def is_message(self) -> bool:
        """Tell a message from a task."""
        return not self.url


class Outcome(Enum):
    """How a create ended: taken (created, existed), refused for good, or not taken."""

    CREATED = "created"
    EXISTED = "existed"
    REJECTED = "rejected"
    NOT_TAKEN = "not_taken"


OUT_OF_TIME = "OUT_OF_TIME"
"""The code of a create that was not sent, because the budget was over before its turn."""

NO_TOKEN = "NO_TOKEN"  # noqa: S105
"""The code of a create that was not sent, because no access token could be had just then."""

OWN_CODES = frozenset({THROTTLED, OUT_OF_TIME, NO_TOKEN})
"""Codes that say nothing about the service: it was not asked."""

QUEUE_FAULTS = frozenset(
    {
        "NOT_FOUND",
        "FAILED_PRECONDITION",
        "PERMISSION_DENIED",
        "UNAUTHENTICATED",
        "UNIMPLEMENTED",
    }
)
"""Codes by which a queue refuses every create until a person has mended it."""


@dataclass(frozen=True, slots=True)
class Result:
    """A create's end; `reason` is empty when it was taken.

    `code` is the gRPC status name, or one of OWN_CODES where this process decided.
    `message_id` is what Pub/Sub calls a message that was published, empty for a task. `sick`
    says that it was not taken because its queue takes nothing, while most of the others do.
    """

    outcome: Outcome
    code: str = "OK"
    reason: str = ""
    message_id: str = ""
    sick: bool = False

    @property
    def sent(self) -> bool:
        """Say whether the service was asked."""
        return self.code not in OWN_CODES

    @property
    def queue_at_fault(self) -> bool:
        """Say whether the queue refuses every create: missing, or not ours to use.

        The record is not settled, yet sending it again cannot help before a person has acted,
        so a job whose creates end like this is paused.
        """
        return self.outcome is Outcome.NOT_TAKEN and self.code in QUEUE_FAULTS


class Creator(Protocol):
    """Creates tasks."""

    def drain_signals(self) -> Signals:
        """Return what the calls of `create_all` saw that ended since the last time.

        A fan-out that asks right after its own call gets its own signals, and those of other
        threads that have not asked yet; each is returned once.
        """

    def hedge_tokens(self) -> float | None:
        """Return how many tokens for hedges are left; None where nothing is hedged."""

    def create_all(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create each task and return the results in the order of `creates`.

        Never raises for what the service answers: a create that was not taken within
        `budget_s` seconds is NOT_TAKEN. May be called from several threads at once.
        """

    def close(self) -> None:
        """Let go of connections and threads; happens by itself when the process ends."""


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue as the service has it.

    `state` is RUNNING, PAUSED or DISABLED, `rate` is in dispatches per second, and `burst` is
    the service's own choice. `retry` is None where it was not asked for.
    """

    name: str
    state: str = "RUNNING"
    rate: float = 500.0
    concurrency: int = 1000
    burst: int = 0
    retry: Retry | None = None


@dataclass(frozen=True, slots=True)
class Deleted:
    """What became of tasks that were to be deleted: `left` may be tried again.

    `gone` counts those that were not there: they have run, or were never created.
    """

    deleted: int = 0
    gone: int = 0
    left: tuple[str, ...] = ()
    reason: str = ""

    def __add__(self, other: "Deleted") -> "Deleted":
        return Deleted(
            self.deleted + other.deleted,
            self.gone + other.gone,
            self.left + other.left,
            self.reason or other.reason,
        )


class QueueAdmin(Protocol):
    """Reads and tunes queues, and fills the injector queues.

    Each method raises NotFound for a queue that does not exist, Misused for values or rights
    that only a person can mend, and Retryable for overload and transport faults.
    """

    def get_queue(self, queue: str) -> Queue:
        """Return the queue of that full resource name."""

    def update_rate(
        self, queue: str, *, rate: float | None = None, concurrency: int | None = None
    ) -> Queue:
        """Set the rate, the concurrency, or both, and nothing else; return what then holds.

        The update mask names the fields that are given; None leaves a field as it is.
        """

    def pause_queue(self, queue: str) -> Queue:
        """Keep the queue from dispatching; what is under way ends."""

    def resume_queue(self, queue: str) -> Queue:
        """Let a paused or disabled queue dispatch again, from a cold rate."""

    def create_queue(self, queue: Queue) -> Queue:
        """Create the queue with its rate, concurrency and retry, unless it is there already.

        Return what then exists. Raises Misused that tells how long to wait when the name is
        reserved, because a queue of that name was deleted a few days ago.
        """

    def set_queue(self, queue: Queue, only: Sequence[str]) -> Queue:
        """Set these fields of a queue that is there, by name, and nothing else.

        Fields are "rate", "concurrency" and those of Retry.
        """

    def granted(self, queue: str, permissions: Sequence[str]) -> Sequence[str]:
        """Return those of the permissions that this process has on the queue.

        That needs no right of its own. On a queue that does not exist, nobody has any.
        """

    def list_queues(self, parent: str) -> Sequence[Queue]:
        """Return every queue of a location, projects/PROJECT/locations/LOCATION."""

    def create_injector_tasks(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create injector tasks, like `Creator.create_all` and without its throttle."""

    def delete_tasks(
        self, names: Mapping[str, Sequence[str]], *, mark: str, budget_s: float
    ) -> Deleted:
        """Delete tasks by queue and full name; never raises for what the service answers.

        The same names under the same mark, tried again by whoever, count as they did before.
        An empty mark tries anew.
        """

    def close(self) -> None:
        """Let go of connections and threads; happens by itself when the process ends."""


class Topics(Protocol):
    """Says of topics whether they can be published to."""

    def look(self, topic: str) -> None:
        """Raise NotFound, or Misused, when the topic is not there, or not ours to publish to.

        Raises Retryable when nobody can be asked.
        """
