"""What a kind of operation is made of, and what the acts of all kinds reach."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Generic, Protocol, TypeVar

from injector.clock import Clock
from injector.control.standing import Watcher
from injector.delivery.ports import QueueAdmin, TaskTemplate
from injector.operations.values import Act, Decided, Fields, Operation, Plan, State

Seen = TypeVar("Seen")


@dataclass(frozen=True, slots=True)
class Target:
    """Where this product's own small tasks go: a URL, and what they carry."""

    url: str
    template: TaskTemplate


class Traffic(Protocol):
    """Splits the traffic of services over their versions, in percents that add up to 100.

    Raises Misused for names or rights that only a person can mend, and Retryable for the rest.
    """

    def split(self, service: str) -> Mapping[str, Decimal]:
        """Return the percent of each version that gets any."""

    def set_split(self, service: str, split: Mapping[str, Decimal], *, shard_by: str) -> None:
        """Split the traffic so, and change nothing else of the service."""


@dataclass(frozen=True, slots=True)
class Ports:
    """What looks and acts work with; what is not there is None.

    `watcher` knows how queues stand, as of `late_s` seconds ago. `keep_warm` is where no-op
    tasks go, and `traffic` what splits the traffic of services.
    """

    queues: QueueAdmin
    clock: Clock
    watcher: Watcher | None = None
    late_s: float = 0.0
    keep_warm: Target | None = None
    traffic: Traffic | None = None


Do = Callable[[Act, Ports], str]
"""Carries an act out, and says what was done; raises Retryable to be called again later."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What a service may reach besides its groups' queues; `traffic` are services by name."""

    traffic: Collection[str] = ()


def admit(_spec: Fields, _reach: Reach) -> None:
    """Let it be asked for: it reaches the group's own queues alone."""


def stop(operation: Operation, now: float) -> Decided:
    """Cancel, and leave everything as it is."""
    return operation.ending(State.CANCELLED, "cancelled; all is left as it is", now=now), ()


@dataclass(frozen=True, slots=True)
class Kind(Generic[Seen]):
    """A kind of operation: three pure functions, and two that reach out.

    `check` takes the spec as it was asked for and returns it whole, with its defaults; it raises
    Misused that names the field, its value and what would do. `look` sees what `plan_of` and
    `advance` need. `advance` decides: the operation as it goes on, and the acts, which are saved
    before the first is carried out. `again` decides what becomes of acts that an interrupted round
    left, now that it was looked again: those that still hold, or something else. `cancel` decides
    what a clean stop takes. Of a group's operations one of each `slot` may be live. `admits` raises
    Misused for a spec, as it was asked for, that a service of that reach may not carry out.
    """

    name: str
    check: Callable[[Fields], Fields]
    look: Callable[[Operation, Ports, float], Seen]
    plan_of: Callable[[Operation, Seen, float], Plan]
    advance: Callable[[Operation, Seen, float], Decided]
    again: Callable[[Operation, Seen, float], Decided]
    verbs: Mapping[str, Do]
    cancel: Callable[[Operation, float], Decided] = stop
    slot: str = "rates"
    admits: Callable[[Fields, Reach], None] = admit

    def foresee(self, operation: Operation, ports: Ports, now: float) -> Plan:
        """Look, and plan; nothing is changed."""
        return self.plan_of(operation, self.look(operation, ports, now), now)

    def decide(self, operation: Operation, ports: Ports, now: float) -> Decided:
        """Look, and decide; nothing is carried out."""
        return self.advance(operation, self.look(operation, ports, now), now)

    def reconsider(self, operation: Operation, ports: Ports, now: float) -> Decided:
        """Look again, and decide on the acts that are left; nothing is carried out."""
        return self.again(operation, self.look(operation, ports, now), now)


class AnyKind(Protocol):
    """A kind, whatever it is that it sees."""

    @property
    def name(self) -> str:
        """Its name, as a command and in the API."""

    @property
    def slot(self) -> str:
        """What it shares with the kinds that must not run beside it in a group."""

    @property
    def check(self) -> Callable[[Fields], Fields]:
        """What makes a spec whole, or refuses it."""

    @property
    def admits(self) -> Callable[[Fields, Reach], None]:
        """What refuses a spec that a service may not carry out."""

    @property
    def cancel(self) -> Callable[[Operation, float], Decided]:
        """What decides on a clean stop."""

    @property
    def verbs(self) -> Mapping[str, Do]:
        """What its acts may do."""

    def foresee(self, operation: Operation, ports: Ports, now: float) -> Plan:
        """Look, and plan; nothing is changed."""

    def decide(self, operation: Operation, ports: Ports, now: float) -> Decided:
        """Look, and decide; nothing is carried out."""

    def reconsider(self, operation: Operation, ports: Ports, now: float) -> Decided:
        """Look again, and decide on the acts that are left; nothing is carried out."""
