"""spread: what waits in a group's queues for one instant leaves on the curve from then on."""

from dataclasses import dataclass, replace

from injector.errors import Misused
from injector.operations.acts import set_rate
from injector.operations.course import Conduct, Course, RatesSeen
from injector.operations.dealing import in_step
from injector.operations.kind import Kind, Ports
from injector.operations.looking import look_at_rates
from injector.operations.planning import drained, rates_plan
from injector.operations.rates import again as looked_again
from injector.operations.rates import go_on
from injector.operations.spec import read_spec, with_rates
from injector.operations.stopping import cancel
from injector.operations.values import Decided, Fields, Operation, Plan, PlannedStep
from injector.operations.verbs import QUEUE_VERBS
from injector.pacing.ramp import SAFE_RATE
from injector.queue_names import so_many

NAME = "spread"
LEAD_S = 180.0
"""How long before the instant the rates are lowered: time for a thousand queues."""


@dataclass(frozen=True, slots=True)
class SpreadSpec:
    """For which instant, in Unix seconds, and at which total the queues begin then.

    `tasks` is how many wait for it, for the plan; None if unknown. `stop` pauses the operation
    after a cut, `blind` goes by the clock alone.
    """

    queues: tuple[str, ...]
    at: float
    initial: float = SAFE_RATE
    tasks: int | None = None
    stop: bool = False
    blind: bool = False
    give_up_s: float = 7200.0


def check(fields: Fields) -> Fields:
    """Refuse a first rate that cannot be."""
    return with_rates(fields, SpreadSpec, kind=NAME, rates=("initial",))


def look(operation: Operation, ports: Ports, now: float) -> RatesSeen:
    """See the queues, which must all run."""
    seen = look_at_rates(operation, ports, now, blind=_spec(operation).blind)
    idle = [queue.name for queue in seen.queues if queue.state != "RUNNING"]
    if idle and not operation.memory:
        raise Misused(f"queue {idle[0]} does not run; resume it instead: injector group resume")
    return seen


def plan(operation: Operation, seen: RatesSeen, now: float) -> Plan:
    """Plan when the rates are lowered, and how they climb from the instant on."""
    spec = _spec(operation)
    course = _course(spec, seen)
    figures = {
        "group": f"{operation.group}, {so_many(len(seen.queues))}",
        "own rates": f"{sum(course.own.values()):.6g}/s together, restored at the end",
    }
    if spec.tasks:
        figures["waiting"] = drained(spec.tasks, course)
    found = rates_plan(course, lambda total: in_step(course.own, total=total), figures=figures)
    lowered = PlannedStep(-LEAD_S, "the rates are lowered")
    late = (f"the instant was {now - spec.at:.0f} s ago",) if now > spec.at else ()
    return replace(found, steps=(lowered, *found.steps), warnings=late)


def advance(operation: Operation, seen: RatesSeen, now: float) -> Decided:
    """Wait, lower the rates shortly before the instant, and raise them on the curve from it."""
    spec = _spec(operation)
    if not operation.memory and now < spec.at - LEAD_S:
        reason = f"lowers the rates {LEAD_S:g} s before the instant"
        return operation.going_on(reason, next_at=spec.at - LEAD_S), ()
    course = Course.from_fields(operation.memory) if operation.memory else _course(spec, seen)
    if now < spec.at:
        return _lowered(operation, course, seen, now)
    return go_on(operation, course, seen, now, _conduct(spec))


def again(operation: Operation, seen: RatesSeen, now: float) -> Decided:
    """Finish lowering the rates, or an interrupted step if all is well."""
    return looked_again(operation, seen, now, _conduct(_spec(operation)))


def _conduct(spec: SpreadSpec) -> Conduct:
    return Conduct(stops=spec.stop, blind=spec.blind, give_up_s=spec.give_up_s)


def _lowered(operation: Operation, course: Course, seen: RatesSeen, now: float) -> Decided:
    """Lower the rates to where the curve begins, and wait for the instant."""
    at = _spec(operation).at
    if course.held:
        return operation.going_on(operation.reason, next_at=at), ()
    held = in_step(course.own, total=course.initial)
    course = replace(course, held=held, opened_at=dict.fromkeys(held, now))
    acts = [
        set_rate(queue.name, held[queue.name], found=queue.rate)
        for queue in seen.queues
        if queue.rate > held[queue.name]
    ]
    reason = f"lowered to {sum(held.values()):.6g}/s together; climbs from the instant on"
    operation = replace(operation, memory=course.to_fields())
    return operation.stepping(reason, next_at=at), acts


def _spec(operation: Operation) -> SpreadSpec:
    return read_spec(operation.spec, SpreadSpec, kind=NAME)


def _course(spec: SpreadSpec, seen: RatesSeen) -> Course:
    own = {queue.name: queue.rate for queue in seen.queues}
    return Course(own, spec.initial, before=own)


SPREAD = Kind(NAME, check, look, plan, advance, again, QUEUE_VERBS, cancel)
