"""keep-warm: a small, steady stream of tasks that do nothing, so that queues do not go cold."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from injector.delivery.ports import Create, Outcome, Queue
from injector.errors import Misused, Retryable
from injector.estimate import USD_PER_MILLION
from injector.naming import task_id
from injector.operations.kind import Kind, Ports, Target
from injector.operations.spec import read_spec, write_spec
from injector.operations.values import (
    Act,
    Decided,
    Fields,
    Line,
    Operation,
    Plan,
    PlannedStep,
    State,
)
from injector.queue_names import so_many
from injector.wording import counted

NAME = "keep-warm"
HEADER = "X-Injector-Keep-Warm"
"""The header by which the target knows such a task; its value is the operation's id."""

AHEAD_S = 120.0
"""How far ahead tasks are created: two rounds, so that one that is missed leaves no gap."""

MONTH_S = 30 * 86400.0
BUDGET_S = 20.0
LEAST_EVERY_S, MOST_EVERY_S = 1.0, 240.0


@dataclass(frozen=True, slots=True)
class KeepWarmSpec:
    """Which queues get a task each `every_s` seconds, and for how long; None until cancelled."""

    queues: tuple[str, ...]
    every_s: float = 60.0
    for_s: float | None = None


@dataclass(frozen=True, slots=True)
class Slots:
    """The tasks number `first` to `past` - 1 of each queue, counted from the operation's start."""

    first: int
    past: int


def check(fields: Fields) -> Fields:
    """Refuse a stream that keeps nothing warm, or is no small one."""
    spec = read_spec(fields, KeepWarmSpec, kind=NAME)
    if not LEAST_EVERY_S <= spec.every_s <= MOST_EVERY_S:
        raise Misused(
            f"keep-warm: every {spec.every_s:g} s must be from {LEAST_EVERY_S:g} to "
            f"{MOST_EVERY_S:g} s; a queue is cold again after some minutes without a task"
        )
    if spec.for_s is not None and not spec.for_s > 0:
        raise Misused(f"keep-warm: for {spec.for_s:g} s must be above 0")
    return write_spec(spec)


def look(operation: Operation, ports: Ports, now: float) -> Sequence[Queue]:
    """See which queues run; a paused one would only pile the tasks up."""
    del now
    _target(ports)
    return [ports.queues.get_queue(name) for name in operation.queues]


def plan(operation: Operation, seen: Sequence[Queue], now: float) -> Plan:
    """Plan the stream, and its price."""
    del now
    spec = _spec(operation)
    rate = len(spec.queues) / spec.every_s
    operations = 2 * rate * (spec.for_s or MONTH_S)
    span = "a month" if spec.for_s is None else f"{spec.for_s / 3600:g} hours"
    cost = operations * USD_PER_MILLION / 1e6
    figures = {
        "group": f"{operation.group}, {so_many(len(spec.queues))}",
        "stream": f"a task each {spec.every_s:g} s and queue, {rate:.4g}/s in all",
        "cost": f"{operations:,.0f} operations in {span}, about USD {cost:,.2f}",
    }
    idle = tuple(f"{queue.name} is {queue.state.lower()}, and left out" for queue in _still(seen))
    steps = [PlannedStep(0.0, "begins", {"tasks/s": round(rate, 4), "queues": len(spec.queues)})]
    points = [(0.0, rate)]
    if spec.for_s is not None:
        steps.append(PlannedStep(spec.for_s, "ends", {"tasks/s": 0.0}))
        points.append((spec.for_s, 0.0))
    lines = (Line("no-op tasks", tuple(points)),)
    return Plan(figures, tuple(steps), "tasks/s", lines, idle, spec.for_s)


def advance(operation: Operation, seen: Sequence[Queue], now: float) -> Decided:
    """Create the tasks of the next two minutes that are not created yet."""
    spec = _spec(operation)
    ends_at = None if spec.for_s is None else operation.started_at + spec.for_s
    if ends_at is not None and now >= ends_at:
        return operation.ending(
            State.DONE, f"{counted(_sent(operation), 'task')} in all", now=now
        ), ()
    slots = _slots(operation, now, min(now + AHEAD_S, ends_at or math.inf))
    queues = [queue.name for queue in seen if queue.state == "RUNNING"]
    act = Act("keep_warm", operation.id, _values(operation, queues, slots))
    sent = _sent(operation) + len(queues) * (slots.past - slots.first)
    left = f"; {len(seen) - len(queues)} do not run" if len(queues) < len(seen) else ""
    reason = f"{counted(sent, 'task')} so far, in {so_many(len(queues))}{left}"
    operation = replace(operation, memory={"past": slots.past, "sent": sent})
    following = operation.going_on(reason, next_at=now + min(60.0, AHEAD_S / 2), ends_at=ends_at)
    return following, [act] if queues and slots.past > slots.first else []


def again(operation: Operation, seen: Sequence[Queue], now: float) -> Decided:
    """Create what is left for the queues that run, but nothing that is past."""
    running = {queue.name for queue in seen if queue.state == "RUNNING"}
    due = _slots(replace(operation, memory={}), now, now).first
    return operation, [
        act for left in operation.acts_left if (act := _shortened(left, running, due))
    ]


def _shortened(act: Act, running: Collection[str], due: int) -> Act | None:
    """Leave out queues that do not run and tasks that are past; None when nothing is left."""
    named = act.values["queues"]
    queues = [queue for queue in named if queue in running] if isinstance(named, list) else []
    first = max(due, int(float(str(act.values["first"]))))
    if not queues or first >= float(str(act.values["past"])):
        return None
    return replace(act, values={**act.values, "queues": queues, "first": first})


def creates(act: Act, ports: Ports) -> Iterator[Create]:
    """Yield the tasks of an act; done again, they have the same names."""
    target = _target(ports)
    template = replace(target.template, headers=((HEADER, act.what),))
    first, past, every_s, began = (float(str(act.values[name])) for name in _NUMBERS)
    queues = act.values["queues"]
    names = list(map(str, queues)) if isinstance(queues, list | tuple) else []
    for place, queue in enumerate(names):
        for number in range(int(first), int(past)):
            yield Create(
                queue,
                task_id(act.what, f"{queue}/{number}".encode(), NAME),
                target.url,
                schedule_time=began + (number + place / len(names)) * every_s,
                template=template,
            )


def send(act: Act, ports: Ports) -> str:
    """Create the tasks; raise Retryable when some were not taken, Misused when none can be."""
    wanted = list(creates(act, ports))
    results = ports.queues.create_injector_tasks(wanted, budget_s=BUDGET_S)
    bad = next((each for each in results if each.outcome is Outcome.REJECTED), None)
    if bad or (bad := next((each for each in results if each.queue_at_fault), None)):
        raise Misused(f"keep-warm tasks cannot be created: {bad.reason}")
    if left := [each for each in results if each.outcome is Outcome.NOT_TAKEN]:
        raise Retryable(f"{counted(len(left), 'keep-warm task')} not taken: {left[0].reason}")
    return f"{counted(len(wanted), 'task')} created"


def cancel(operation: Operation, now: float) -> Decided:
    """End; what was created for the next minutes still runs, and does nothing."""
    reason = (
        f"cancelled after {counted(_sent(operation), 'task')}; the last run within {AHEAD_S:g} s"
    )
    return operation.ending(State.CANCELLED, reason, now=now), ()


def _target(ports: Ports) -> Target:
    """Return where the tasks go; raise Misused where there is no service to call."""
    if ports.keep_warm is None:
        raise Misused(
            "there is no service for the tasks to call; set INJECTOR_SERVICE_URL and "
            "INJECTOR_QUEUE_CALLERS"
        )
    return ports.keep_warm


_NUMBERS = ("first", "past", "every_s", "began")


def _values(operation: Operation, queues: Sequence[str], slots: Slots) -> Fields:
    every_s = _spec(operation).every_s
    numbers = (slots.first, slots.past, every_s, operation.started_at)
    return {"queues": list(queues), **dict(zip(_NUMBERS, numbers, strict=True))}


def _slots(operation: Operation, now: float, until: float) -> Slots:
    """Return what falls due until then; what was missed is not caught up."""
    every_s = _spec(operation).every_s
    due = max(0, math.floor((now - operation.started_at) / every_s))
    first = max(due, int(_number(operation, "past")))
    return Slots(first, max(first, math.ceil((until - operation.started_at) / every_s)))


def _sent(operation: Operation) -> int:
    return int(_number(operation, "sent"))


def _number(operation: Operation, name: str) -> float:
    found = operation.memory.get(name, 0)
    return float(found) if isinstance(found, int | float) else 0.0


def _still(queues: Sequence[Queue]) -> list[Queue]:
    return [queue for queue in queues if queue.state != "RUNNING"]


def _spec(operation: Operation) -> KeepWarmSpec:
    return read_spec(operation.spec, KeepWarmSpec, kind=NAME)


KEEP_WARM = Kind(
    NAME, check, look, plan, advance, again, {"keep_warm": send}, cancel, slot="warmth"
)
