"""What the pages show of operations on groups: where each is, its steps, and how to stop it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from handlers.dashboard.steering import Button, operation_buttons
from handlers.parts import Parts
from injector.ledger.ports import AuditLine
from injector.operations.values import Operation, State

ENDED = 5
"""How many operations that have ended a group's page shows."""

FEW, MANY = 5, 200
"""How many steps of an operation its group's page shows, and its own."""

SHOWN = 80
"""How many characters of a field of what was asked for."""


@dataclass(frozen=True, slots=True)
class Course:
    """An operation with its latest steps, newest first, and what can be done with it now.

    `asked` is what was asked for, but for the queues; `left_s` is None while nobody can say.
    """

    operation: Operation
    asked: Mapping[str, str]
    left_s: float | None
    steps: Sequence[AuditLine]
    buttons: Sequence[Button]


def courses_of(parts: Parts, group: str) -> Sequence[Course]:
    """Return the operations that may still change something, then the last of the others."""
    table = parts.ledger.operations
    acting = table.list(group=group, may_act=True)
    known = {each.id for each in acting}
    latest = table.list(group=group, limit=len(acting) + ENDED)
    others = [each for each in latest if each.id not in known][:ENDED]
    return [course(parts, each, steps=FEW if each.is_live else 0) for each in (*acting, *others)]


def course_of(parts: Parts, operation_id: str) -> Course:
    """Return the operation; raise NotFound when there is none of that id."""
    return course(parts, parts.ledger.operations.get(operation_id), steps=MANY)


def course(parts: Parts, operation: Operation, *, steps: int) -> Course:
    """Show the operation with so many of its steps."""
    running = operation.state is State.RUNNING and operation.ends_at is not None
    return Course(
        operation,
        dict(_asked(operation)),
        max(0.0, (operation.ends_at or 0.0) - parts.clock.now()) if running else None,
        parts.ledger.jobs.audit(operation.id, limit=steps) if steps else (),
        operation_buttons(operation),
    )


def _asked(operation: Operation) -> Iterator[tuple[str, str]]:
    """Yield the fields of the spec that a person reads at a glance."""
    for name, value in operation.spec.items():
        if isinstance(value, bool):
            yield name.replace("_", " "), "yes" if value else "no"
        elif isinstance(value, int | float):
            yield name.replace("_", " "), f"{value:,.10g}"
        elif isinstance(value, str):
            yield name.replace("_", " "), value[:SHOWN]
