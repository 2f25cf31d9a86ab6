"""Operations on groups: begun, listed, shown, paused, resumed and cancelled; ticks run them.

If-Match with an operation's ETag steers it only if it is where the caller has seen it.
"""

import secrets
from typing import TypedDict

from flask import Blueprint, Response

from handlers.access import caller
from handlers.asking import body, expected_version, query
from handlers.context import parts
from handlers.known import known_group
from handlers.logs import event
from handlers.models import Nothing
from handlers.once import once
from handlers.operation_models import (
    NewOperation,
    OperationList,
    OperationShown,
    OperationsQuery,
    PlanShown,
)
from handlers.views import answer
from injector.errors import Misused, NotFound
from injector.groups import Group
from injector.operations.kind import Reach
from injector.operations.kinds import kind_of
from injector.operations.shown import shown
from injector.operations.steering import begin, cancel, new_operation, pause, resume
from injector.operations.values import Fields, Operation

MAX_BODY = 512 * 1024

operating = Blueprint("operating", __name__)


@operating.post("/groups/<name>/operations")
@once
def begun(name: str) -> Response:
    """Begin an operation on a group: 201 when it is new, 200 when it is under way already."""
    operation, is_new = begin(parts().ledger, _asked(name))
    if is_new:
        event("operation.begun", operation=operation.id, group=name, who=operation.who)
    place = f"/operations/{operation.id}"
    return answer(_view(operation), 201 if is_new else 200, Location=place)


@operating.post("/groups/<name>/plans")
def planned(name: str) -> Response:
    """Plan an operation on a group by how it is now; nothing is changed."""
    operation = _asked(name)
    now = parts().clock.now()
    plan = kind_of(operation.kind).foresee(operation, parts().operation_ports(), now)
    return answer(PlanShown.model_validate(plan, from_attributes=True))


@operating.get("/operations")
def listed() -> Response:
    """List operations, newest first."""
    asked = query(OperationsQuery)
    found = parts().ledger.operations.list(group=asked.group, limit=asked.limit)
    return answer(OperationList(operations=[_view(each) for each in found]))


@operating.get("/operations/<operation_id>")
def shown_(operation_id: str) -> Response:
    """Show where an operation is."""
    return answer(_view(parts().ledger.operations.get(operation_id)))


@operating.post("/operations/<operation_id>/pause")
@once
def paused(operation_id: str) -> Response:
    """Pause an operation: what it has set stays set, and no further step is taken."""
    return _steered(pause(parts().ledger, operation_id, **_asking()))


@operating.post("/operations/<operation_id>/resume")
@once
def resumed(operation_id: str) -> Response:
    """Let a paused operation go on, from the next tick."""
    return _steered(resume(parts().ledger, operation_id, **_asking()))


@operating.post("/operations/<operation_id>/cancel")
@once
def cancelled(operation_id: str) -> Response:
    """End an operation for good; its reason says what it leaves behind."""
    asking, ledger = _asking(), parts().ledger
    kind = kind_of(ledger.operations.get(operation_id).kind)
    return _steered(cancel(ledger, operation_id, kind, **asking))


def _asked(name: str) -> Operation:
    """Make the operation that the body asks for, on the group's queues or some of them."""
    group = known_group(parts().settings, name)
    asked = body(NewOperation, limit=MAX_BODY, name="an operation")
    spec = {"queues": list(group.queues)} | asked.spec
    _check_own(group, spec)
    if not group.queues:
        raise Misused(f"group {name} is a topic; it has no queues to operate")
    try:
        kind = kind_of(asked.kind)
    except NotFound as error:
        raise Misused(str(error)) from error
    kind.admits(spec, Reach(traffic=parts().settings.traffic_services))
    draw = secrets.randbelow(1 << 16)
    now = parts().clock.now()
    return new_operation(kind, name, spec, now=now, who=caller().name, draw=draw)


def _check_own(group: Group, spec: Fields) -> None:
    """Refuse queues of others: who may operate one group may not reach the rest by its name."""
    for field, own in (("queues", group.queues), ("injector_queues", group.injector_queues)):
        named = spec.get(field, ())
        others = set(map(str, named)) - set(own) if isinstance(named, list) else set()
        if others:
            raise Misused(
                f"{field}: {min(others)[:200]} is not one of group {group.name}'s; leave "
                f"{field} out, or configure the group with it first"
            )


class _Asking(TypedDict):
    """Who asks, when, and for which version; None for any."""

    now: float
    who: str
    expected_version: int | None


def _asking() -> _Asking:
    """Read what a request says besides its path."""
    body(Nothing, limit=MAX_BODY, name="empty")
    return {
        "now": parts().clock.now(),
        "who": caller().name,
        "expected_version": expected_version(),
    }


def _steered(operation: Operation) -> Response:
    event(f"operation.{operation.state}", operation=operation.id, who=caller().name)
    return answer(_view(operation))


def _view(operation: Operation) -> OperationShown:
    return OperationShown.model_validate(shown(operation))
