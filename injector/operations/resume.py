"""resume: let a group's paused queues dispatch again on the curve, each to its own rate."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from injector.errors import Misused
from injector.operations.course import Conduct, Course, RatesSeen
from injector.operations.dealing import in_step, in_turn
from injector.operations.kind import Kind, Ports
from injector.operations.looking import look_at_rates
from injector.operations.planning import drained, rates_plan
from injector.operations.rates import again as looked_again
from injector.operations.rates import go_on
from injector.operations.spec import read_spec, with_rates
from injector.operations.stopping import cancel
from injector.operations.values import Decided, Fields, Operation, Plan, State
from injector.operations.verbs import QUEUE_VERBS
from injector.pacing.ramp import SAFE_RATE
from injector.queue_names import so_many

NAME = "resume"


@dataclass(frozen=True, slots=True)
class ResumeSpec:
    """Which queues to resume, and how: one after the other, or all by rates that climb.

    `initial` is the total at which it begins. `tasks` is how many wait, for the plan; None if
    unknown. `stop` pauses the operation after a cut, `blind` goes by the clock alone.
    """

    queues: tuple[str, ...]
    by: Literal["turn", "rate"] = "turn"
    initial: float = SAFE_RATE
    tasks: int | None = None
    stop: bool = True
    blind: bool = False
    give_up_s: float = 7200.0


def check(fields: Fields) -> Fields:
    """Refuse a first rate that cannot be."""
    return with_rates(fields, ResumeSpec, kind=NAME, rates=("initial",))


def look(operation: Operation, ports: Ports, now: float) -> RatesSeen:
    """See the queues; one that is disabled cannot be resumed."""
    seen = look_at_rates(operation, ports, now, blind=_spec(operation).blind)
    if disabled := [queue.name for queue in seen.queues if queue.state == "DISABLED"]:
        raise Misused(f"queue {disabled[0]} is disabled; enable it in queue.yaml")
    return seen


def plan(operation: Operation, seen: RatesSeen, now: float) -> Plan:
    """Plan which queues open when, and at which rates."""
    del now
    spec = _spec(operation)
    course = _course(spec, seen)
    figures = {
        "group": f"{operation.group}, {len(course.own)} of {so_many(len(seen.queues))} paused",
        "way": "one after the other" if spec.by == "turn" else "all at once, at rates that climb",
        "own rates": f"{sum(course.own.values()):.6g}/s together, restored at the end",
    }
    if not course.own:
        return Plan(figures, warnings=("no queue is paused; there is nothing to do",), seconds=0.0)
    if spec.tasks:
        figures["waiting"] = drained(spec.tasks, course)
    return rates_plan(course, lambda total: _deal(spec, course.own, total), figures=figures)


def advance(operation: Operation, seen: RatesSeen, now: float) -> Decided:
    """Open what the curve allows, until every queue has its own rate again."""
    spec = _spec(operation)
    memory = operation.memory
    course = Course.from_fields(memory) if memory else _course(spec, seen)
    if not course.own:
        return operation.ending(State.DONE, "no queue is paused", now=now), ()
    return go_on(operation, course, seen, now, _conduct(spec))


def again(operation: Operation, seen: RatesSeen, now: float) -> Decided:
    """Finish an interrupted step if all is well."""
    return looked_again(operation, seen, now, _conduct(_spec(operation)))


def _conduct(spec: ResumeSpec) -> Conduct:
    return Conduct(spec.by == "turn", stops=spec.stop, blind=spec.blind, give_up_s=spec.give_up_s)


def _spec(operation: Operation) -> ResumeSpec:
    return read_spec(operation.spec, ResumeSpec, kind=NAME)


def _course(spec: ResumeSpec, seen: RatesSeen) -> Course:
    """Return the course of the queues that are paused, to the rates that they have."""
    own = {queue.name: queue.rate for queue in seen.queues if queue.state == "PAUSED"}
    return Course(own, spec.initial, before=own)


def _deal(spec: ResumeSpec, own: Mapping[str, float], total: float) -> Mapping[str, float]:
    return in_turn(own, total=total) if spec.by == "turn" else in_step(own, total=total)


RESUME = Kind(NAME, check, look, plan, advance, again, QUEUE_VERBS, cancel)
