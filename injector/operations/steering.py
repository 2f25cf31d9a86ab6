"""Beginning operations, and pausing, resuming and cancelling them, from wherever it is asked."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from injector.errors import Conflict, Outdated
from injector.ledger.ports import AuditLine, LedgerPort
from injector.operations.kind import AnyKind
from injector.operations.runner import save
from injector.operations.values import Fields, Operation, State

TRIES = 5
SPEC_SHOWN = 900


def new_operation(  # noqa: PLR0913
    kind: AnyKind, group: str, spec: Fields, *, now: float, who: str, draw: int
) -> Operation:
    """Make an operation that has not begun; raise Misused when its spec cannot be.

    `draw` is a number below 65,536 that sets it apart from others of the same second.
    """
    at = datetime.fromtimestamp(now, UTC).strftime("%Y%m%d-%H%M%S")
    return Operation(
        id=f"{kind.name}-{at}-{draw:04x}",
        kind=kind.name,
        group=group,
        spec=kind.check(spec),
        slot=kind.slot,
        who=who,
        started_at=now,
        next_at=now,
    )


def begin(ledger: LedgerPort, operation: Operation) -> tuple[Operation, bool]:
    """Begin the operation, or find the live one that was begun alike; tell whether it is new.

    Raises Conflict that names the live one of its group that is another.
    """
    for found in ledger.operations.list(group=operation.group, may_act=True):
        if found.is_live and (found.kind, found.spec) == (operation.kind, operation.spec):
            return found, False
    spec = json.dumps(operation.spec)[:SPEC_SHOWN]
    line = _line(operation, "begun", operation.who, "", spec)
    return ledger.operations.begin(operation, lines=[line]), True


def pause(
    ledger: LedgerPort,
    operation_id: str,
    *,
    now: float,
    who: str,
    expected_version: int | None = None,
) -> Operation:
    """Let no further step be decided or done; what is set stays set.

    Raises Outdated where the operation is of another version than is expected; None expects any.
    """

    def paused(found: Operation) -> Operation:
        return replace(found, state=State.PAUSED, reason=f"paused by {who}", ends_at=None)

    return _change(ledger, operation_id, State.PAUSED, paused, expected_version, now=now, who=who)


def resume(
    ledger: LedgerPort,
    operation_id: str,
    *,
    now: float,
    who: str,
    expected_version: int | None = None,
) -> Operation:
    """Let a paused operation go on; `expected_version` as for a pause."""

    def resumed(found: Operation) -> Operation:
        return replace(found, state=State.RUNNING, reason="goes on", next_at=now)

    return _change(ledger, operation_id, State.RUNNING, resumed, expected_version, now=now, who=who)


def cancel(  # noqa: PLR0913
    ledger: LedgerPort,
    operation_id: str,
    kind: AnyKind,
    *,
    now: float,
    who: str,
    expected_version: int | None = None,
) -> Operation:
    """End an operation for good; what a clean stop takes is done by whoever goes on with it.

    `expected_version` as for a pause.
    """

    def cancelled(found: Operation) -> Operation:
        after, acts = kind.cancel(found, now)
        return replace(after, acts=tuple(acts), acts_done=0)

    return _change(
        ledger, operation_id, State.CANCELLED, cancelled, expected_version, now=now, who=who
    )


def _change(  # noqa: PLR0913
    ledger: LedgerPort,
    operation_id: str,
    state: State,
    change: Callable[[Operation], Operation],
    expected_version: int | None,
    *,
    now: float,
    who: str,
) -> Operation:
    """Change the state; look again when someone else was quicker."""
    for _ in range(TRIES):
        found = ledger.operations.get(operation_id)
        if expected_version not in {None, found.version}:
            raise Outdated(
                f"operation {operation_id} is of version {found.version}, not {expected_version}; "
                "look at it again"
            )
        if found.state is state:
            return found
        if not found.is_live:
            raise Conflict(f"operation {operation_id} is {found.state}; it cannot become {state}")
        with suppress(Outdated):
            return save(ledger, found, change(found), now=now, who=who)
    raise Conflict(f"operation {operation_id} is being changed by others; try again")


def _line(operation: Operation, what: str, who: str, old: str, new: str) -> AuditLine:
    return AuditLine(operation.started_at, operation.id, who, what, old, new, "")
