"""expand: give a group more queues, led up on the curve, or at once between those there are.

It makes the queues, and says what the configuration is to name then. From there on the
controller leads the new queues up by itself: see `injector.control.growth`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from injector.delivery.ports import Queue
from injector.errors import Misused
from injector.groups import Retry
from injector.interleave import bound_problems, interleave, is_even
from injector.operations.acts import ACTS_PER_S
from injector.operations.expanding import ShareStep, following, lines, planned, share_steps
from injector.operations.kind import Kind, Ports
from injector.operations.provision import (
    PROVISION_VERBS,
    Found,
    check_one_place,
    check_room,
    found_in,
    go_on,
    still_needed,
)
from injector.operations.reconcile import Wanted, changes, limit_problem
from injector.operations.spec import read_spec, write_spec
from injector.operations.terraform import group_fields
from injector.operations.values import Decided, Fields, Operation, Plan, PlannedStep
from injector.pacing.ramp import SAFE_RATE
from injector.queue_names import compact, so_many
from injector.wording import are

NAME = "expand"
RESERVED = (
    "a name that a queue had until 3 to 7 days ago cannot be used again yet: creating it fails"
)


@dataclass(frozen=True, slots=True)
class ExpandSpec:
    """How a group grows: `to` so many queues, or by the names in `add`, or in an `emergency`.

    `creates_per_s` is what the whole group gets, None if unknown; `since_last_s` how long ago
    queues were last taken in between others, None if never.
    """

    queues: tuple[str, ...]
    to: int | None = None
    add: tuple[str, ...] = ()
    emergency: bool = False
    creates_per_s: float | None = None
    since_last_s: float | None = None


def check(fields: Fields) -> Fields:
    """Name the new queues, and refuse an emergency expansion that breaks its bounds."""
    spec = read_spec(fields, ExpandSpec, kind=NAME)
    if sum((spec.to is not None, bool(spec.add), spec.emergency)) != 1:
        raise Misused(f"{NAME}: give one of to, add and emergency, such as --to 400")
    rate = spec.creates_per_s
    if rate is not None and not (math.isfinite(rate) and rate > 0):
        raise Misused(f"{NAME}: creates_per_s {rate:g} is not a rate; give one above 0")
    new = new_queues(spec)
    if again := sorted(set(new) & set(spec.queues)):
        raise Misused(f"{NAME}: {again[0]} is one of the group's queues already")
    check_one_place((*spec.queues, *new), NAME)
    if spec.emergency and (problems := list(_broken(spec, new))):
        raise Misused(f"{NAME}: {'; '.join(problems)}")
    return write_spec(spec)


def new_queues(spec: ExpandSpec) -> tuple[str, ...]:
    """Name the new queues."""
    if spec.emergency:
        return interleave(spec.queues)
    return spec.add or following(spec.queues, to=spec.to or 0)


def _broken(spec: ExpandSpec, new: Sequence[str]) -> Iterator[str]:
    return bound_problems(
        queues=len(spec.queues),
        new=len(new),
        creates_per_s=spec.creates_per_s or 0.0,
        since_last_s=math.inf if spec.since_last_s is None else spec.since_last_s,
    )


def look(operation: Operation, ports: Ports, now: float) -> Found:
    """List the queues of the location."""
    del now
    return found_in(operation.queues, ports)


def plan(operation: Operation, seen: Found, now: float) -> Plan:
    """Show the new queues, how their share climbs, and what to configure."""
    del now
    spec = _spec(operation)
    new = new_queues(spec)
    rate = spec.creates_per_s or SAFE_RATE
    steps = _steps(spec, new, rate)
    shown = steps or [ShareStep(0.0, rate * _even(spec, new), _even(spec, new))]
    missing = [name for name in new if name not in seen.queues]
    return Plan(
        figures={
            "group": f"{operation.group}, {so_many(len(spec.queues))}",
            "new queues": f"{len(new)}: {compact(new)}",
            "to create": f"{len(missing)}, in {math.ceil(len(missing) / ACTS_PER_S)} s",
            "creates of the group": f"{rate:,.6g}/s",
            "even share": f"{rate / (len(spec.queues) + len(new)):,.4g}/s for each queue",
            "then configure": compact((*spec.queues, *new)),
            "in terraform": _terraform(spec, new),
        },
        steps=tuple(planned(steps, creates_per_s=rate)) or _at_once(spec, new),
        title="creates/s",
        lines=lines(shown, creates_per_s=rate),
        warnings=tuple(_warnings(spec, new, missing, seen)),
        seconds=(steps[-1].at_s if steps else 0.0) + len(missing) / ACTS_PER_S,
    )


def _steps(spec: ExpandSpec, new: Sequence[str], rate: float) -> list[ShareStep]:
    """Return how the share climbs; nothing where it is even at once."""
    if is_even(spec.queues, new):
        return []
    return share_steps(old=len(spec.queues), new=len(new), creates_per_s=rate, first=SAFE_RATE)


def _at_once(spec: ExpandSpec, new: Sequence[str]) -> tuple[PlannedStep, ...]:
    share = round(100 * _even(spec, new), 2)
    return (PlannedStep(0.0, "used at once", {"new %": share, "queues": len(new)}),)


def _even(spec: ExpandSpec, new: Sequence[str]) -> float:
    """Return the new queues' even share, of 1."""
    return len(new) / (len(spec.queues) + len(new))


def _terraform(spec: ExpandSpec, new: Sequence[str]) -> str:
    return group_fields((*spec.queues, *new)) or (
        "the module does not make queues of such names: make them known by INJECTOR_GROUPS"
    )


def _warnings(
    spec: ExpandSpec, new: Sequence[str], missing: Sequence[str], seen: Found
) -> Iterator[str]:
    if problem := limit_problem(len(seen.queues), len(missing), spec.queues[0].split("/")[3]):
        yield problem
    if missing:
        yield RESERVED
    if spec.creates_per_s is None:
        yield "what the group creates is not known: say it by --creates, such as --creates 100000"
    elif not spec.emergency and is_even(spec.queues, new):
        yield from _broken(spec, new)


def advance(operation: Operation, seen: Found, now: float) -> Decided:
    """Create the next queues, alike to those that are there."""
    spec = _spec(operation)
    new = new_queues(spec)
    wanted = _wanted(spec, seen)
    check_room(spec.queues, seen, changes(wanted, seen.queues))
    made = f"{so_many(len(new), 'new')} {are(len(new))} there as wanted"
    done = f"{made}; let the configuration name {compact((*spec.queues, *new))}"
    return go_on(operation, list(changes(wanted, seen.queues)), now, done=done)


def again(operation: Operation, seen: Found, now: float) -> Decided:
    """Create those queues that are still missing."""
    del now
    wanted = _wanted(_spec(operation), seen)
    return operation, still_needed(operation, changes(wanted, seen.queues))


def _wanted(spec: ExpandSpec, seen: Found) -> list[Wanted]:
    return [Wanted(_alike(name, spec, seen)) for name in new_queues(spec)]


def _alike(name: str, spec: ExpandSpec, seen: Found) -> Queue:
    """Make a queue like the first of the group that is there."""
    model = next((seen.queues[queue] for queue in spec.queues if queue in seen.queues), None)
    if model is None:
        raise Misused(
            f"{NAME}: none of the group's queues is there, such as {spec.queues[0]}; "
            "create them first: injector group provision"
        )
    return Queue(name, "RUNNING", model.rate, model.concurrency, retry=model.retry or Retry())


def _spec(operation: Operation) -> ExpandSpec:
    return read_spec(operation.spec, ExpandSpec, kind=NAME)


EXPAND = Kind(NAME, check, look, plan, advance, again, PROVISION_VERBS)
