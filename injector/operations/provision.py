"""provision: create a group's queues, or bring those there are to what the group says."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from injector.delivery.ports import Queue
from injector.errors import Misused
from injector.groups import Retry, location_of, queue_rate_problem
from injector.operations.acts import ACTS_PER_S
from injector.operations.kind import Do, Kind, Ports
from injector.operations.reconcile import (
    CREATE,
    SET,
    Change,
    Wanted,
    changed,
    changes,
    injector,
    limit_problem,
    target,
)
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
from injector.queue_names import compact, so_many

NAME = "provision"
A_ROUND = 50
"""How many queues are changed before it is looked again."""

TRIES = 3
SETTLED = "all queues are as they should be"


@dataclass(frozen=True, slots=True)
class ProvisionSpec:
    """What the group's queues are to be like; None leaves a field as it is found.

    `injector_rate` is what each injector queue begins with.
    """

    queues: tuple[str, ...]
    injector_queues: tuple[str, ...] = ()
    rate: float | None = None
    concurrency: int | None = None
    retry: Retry | None = None
    injector_rate: float = 5.0


@dataclass(frozen=True, slots=True)
class Found:
    """The queues of the operation's locations, by name."""

    queues: Mapping[str, Queue]


def check(fields: Fields) -> Fields:
    """Refuse settings that a queue cannot have, and a group that is spread over locations."""
    spec = read_spec(fields, ProvisionSpec, kind=NAME)
    if spec.rate is not None and (problem := queue_rate_problem(spec.rate)):
        raise Misused(f"{NAME}: rate {problem}")
    if spec.concurrency is not None and not 1 <= spec.concurrency <= 5000:
        raise Misused(f"{NAME}: concurrency {spec.concurrency} is not from 1 to 5,000")
    if not spec.queues:
        raise Misused(f"{NAME}: queues are none; name a group that has queues")
    check_one_place((*spec.injector_queues, *spec.queues), NAME)
    return write_spec(spec)


def check_one_place(queues: Sequence[str], kind: str) -> None:
    """Refuse queues of several locations: load moves between neighbours of one region only."""
    places = sorted({location_of(queue) for queue in queues})
    if len(places) > 1:
        raise Misused(f"{kind}: the queues are spread over {', '.join(places)}; keep to one region")


def look(operation: Operation, ports: Ports, now: float) -> Found:
    """List the queues of the location: one call for each thousand."""
    del now
    return found_in(operation.queues, ports)


def found_in(queues: Sequence[str], ports: Ports) -> Found:
    """List the queues where these are, or are to be."""
    parents = sorted({queue.rpartition("/queues/")[0] for queue in queues})
    listed = (queue for parent in parents for queue in ports.queues.list_queues(parent))
    return Found({queue.name: queue for queue in listed})


def plan(operation: Operation, seen: Found, now: float) -> Plan:
    """Show what would be created and set; what is as it should be is left alone."""
    del now
    spec = _spec(operation)
    found = list(changes(wanted_of(spec), seen.queues))
    new = [change for change in found if change.creates]
    total = len(spec.queues) + len(spec.injector_queues)
    steps = tuple(_steps(found)) or (PlannedStep(0.0, "nothing differs", {"queues": 0}),)
    return Plan(
        figures={
            "group": f"{operation.group}, {so_many(total)}",
            "to create": str(len(new)),
            "to set": str(len(found) - len(new)),
            "as they should be": str(total - len(found)),
            "queues in the region": f"{len(seen.queues)}, then {len(seen.queues) + len(new)}",
        },
        steps=steps,
        title="queues changed",
        lines=(Line("changed", tuple(_changed_by(steps, len(found)))),),
        warnings=tuple(_warnings(spec, seen, found)),
        seconds=len(found) / ACTS_PER_S,
    )


def advance(operation: Operation, seen: Found, now: float) -> Decided:
    """Change the next queues, and end when a look finds none that differs."""
    spec = _spec(operation)
    check_room(spec.queues, seen, changes(wanted_of(spec), seen.queues))
    return go_on(operation, list(changes(wanted_of(spec), seen.queues)), now, done=SETTLED)


def again(operation: Operation, seen: Found, now: float) -> Decided:
    """Do what is left for those queues that still differ."""
    del now
    wanted = wanted_of(_spec(operation))
    return operation, still_needed(operation, changes(wanted, seen.queues))


def still_needed(operation: Operation, found: Iterator[Change]) -> list[Act]:
    """Return the acts that are left for queues that are not as wanted yet."""
    differing = {change.queue.name for change in found}
    return [act for act in operation.acts_left if act.what in differing]


def check_room(queues: Sequence[str], seen: Found, found: Iterator[Change]) -> None:
    """Raise Misused where the region has no room for the new queues."""
    new = sum(change.creates for change in found)
    if new and (problem := limit_problem(len(seen.queues), new, location_of(queues[0]))):
        raise Misused(problem)


def go_on(operation: Operation, found: Sequence[Change], now: float, *, done: str) -> Decided:
    """Change the next queues; pause when changing them does not change them."""
    if not found:
        return operation.ending(State.DONE, done, now=now), ()
    tries = _tries(operation, len(found))
    if tries > TRIES:
        first = found[0].queue.name
        why = f"{so_many(len(found))} still to be changed after {TRIES} tries, such as {first}"
        return operation.ending(State.PAUSED, why, now=now), ()
    steps = operation.steps or -(-len(found) // A_ROUND)
    acts = [change.act for change in islice(found, A_ROUND)]
    memory = {"left": len(found), "tries": tries}
    moved = replace(operation, memory=memory, steps=max(steps, operation.step + 1))
    ends_at = now + len(found) / ACTS_PER_S
    return moved.stepping(f"{so_many(len(found))} to change", next_at=now, ends_at=ends_at), acts


def _tries(operation: Operation, left: int) -> int:
    """Count how often nothing has become less."""
    before, tries = operation.memory.get("left"), operation.memory.get("tries", 0)
    if not isinstance(before, int) or not isinstance(tries, int) or left < before:
        return 0
    return tries + 1


def wanted_of(spec: ProvisionSpec) -> list[Wanted]:
    """Say what every queue is to be like, the injector queues first."""
    shape = {"rate": spec.rate, "concurrency": spec.concurrency, "retry": spec.retry}
    injectors = [injector(name, rate=spec.injector_rate) for name in spec.injector_queues]
    return [*injectors, *(target(name, **shape) for name in spec.queues)]  # type: ignore[arg-type]


def _spec(operation: Operation) -> ProvisionSpec:
    return read_spec(operation.spec, ProvisionSpec, kind=NAME)


def _steps(found: Sequence[Change]) -> Iterator[PlannedStep]:
    """Show queues that change alike as one step."""
    kinds: dict[str, list[Change]] = {}
    for change in found:
        kinds.setdefault(_words(change), []).append(change)
    done = 0
    for words, alike in kinds.items():
        names = compact([change.queue.name for change in alike]).rpartition("/queues/")[2]
        figures = {"queues": len(alike), "names": names}
        yield PlannedStep(done / ACTS_PER_S, words, figures)
        done += len(alike)


def _changed_by(steps: Sequence[PlannedStep], whole: int) -> Iterator[tuple[float, float]]:
    """Yield how many queues are changed when a step begins, and in the end."""
    for step in steps:
        yield step.at_s, step.at_s * ACTS_PER_S
    yield whole / ACTS_PER_S, float(whole)


def _words(change: Change) -> str:
    queue = change.queue
    if change.creates:
        return f"create with {queue.rate:g}/s, {queue.concurrency} at once"
    retry = queue.retry or Retry()
    values = (
        f"{name} {getattr(queue if name in {'rate', 'concurrency'} else retry, name):g}"
        for name in change.fields
    )
    return f"set {', '.join(values)}"


def _warnings(spec: ProvisionSpec, seen: Found, found: Sequence[Change]) -> Iterator[str]:
    new = [change.queue.name for change in found if change.creates]
    if problem := limit_problem(len(seen.queues), len(new), location_of(spec.queues[0])):
        yield problem
    if new:
        yield (
            "a name that a queue had until 3 to 7 days ago cannot be used again yet; reuse queues "
            "that are there rather than delete and create them"
        )
    named = {*spec.queues, *spec.injector_queues}
    states = Counter(q.state.lower() for q in seen.queues.values() if q.name in named)
    for state, number in states.items():
        if state != "running":
            yield f"{number} of the group's queues are {state}; see injector group resume"


def create(act: Act, ports: Ports) -> str:
    """Create a queue, unless it is there."""
    queue, _ = changed(act)
    ports.queues.create_queue(queue)
    return f"{act.what} is there, with {queue.rate:g}/s"


def set_fields(act: Act, ports: Ports) -> str:
    """Set fields of a queue."""
    queue, only = changed(act)
    ports.queues.set_queue(queue, only)
    return f"{act.what} has {', '.join(only)} set"


PROVISION_VERBS: Mapping[str, Do] = {CREATE: create, SET: set_fields}
PROVISION = Kind(NAME, check, look, plan, advance, again, PROVISION_VERBS)
