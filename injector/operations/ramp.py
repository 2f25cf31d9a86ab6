"""ramp: raise or lower a group's dispatch rate on the curve, watching the target's answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from injector.errors import Misused
from injector.groups import queue_rate_problem
from injector.operations.course import Conduct, Course, RatesSeen
from injector.operations.dealing import in_step
from injector.operations.kind import Kind, Ports
from injector.operations.looking import look_at_rates
from injector.operations.planning import queues_needed, rates_plan
from injector.operations.rates import again as looked_again
from injector.operations.rates import go_on
from injector.operations.spec import check_rate, read_spec, write_spec
from injector.operations.stopping import cancel
from injector.operations.values import Decided, Fields, Operation, Plan
from injector.operations.verbs import QUEUE_VERBS
from injector.pacing.limiter import concurrency_needed
from injector.pacing.ramp import QUEUE_MAX_RATE, SAFE_RATE
from injector.queue_names import so_many

NAME = "ramp"


@dataclass(frozen=True, slots=True)
class RampSpec:
    """What to ramp: all queues together to `to` dispatches a second, or each to its rate in `own`.

    `start` is where the group is warm already; None takes what it dispatches now, and 500/s if
    that is less. `latency_s` is how long the target takes, for the plan; None if unknown. `stop`
    pauses the operation after a cut, and `blind` goes by the clock alone.
    """

    queues: tuple[str, ...]
    to: float | None = None
    own: Mapping[str, float] = field(default_factory=dict)
    start: float | None = None
    latency_s: float | None = None
    stop: bool = False
    blind: bool = False
    give_up_s: float = 7200.0

    @property
    def rates(self) -> Mapping[str, float]:
        """Return what each queue is to have."""
        return self.own or dict.fromkeys(self.queues, (self.to or 0.0) / len(self.queues))

    @property
    def whole(self) -> float:
        """Return what all queues together are to have."""
        return sum(self.own.values()) if self.own else self.to or 0.0


def check(fields: Fields) -> Fields:
    """Refuse rates that cannot be; with rates of their own, only those queues are ramped."""
    spec = read_spec(fields, RampSpec, kind=NAME)
    check_rate(NAME, "start", spec.start)
    if spec.to is None and not spec.own:
        raise Misused("ramp: to: missing; give dispatches/s, such as 4000, or own (--back-to)")
    if spec.to is not None and spec.own:
        raise Misused(f"ramp: to {spec.to:g} and own (--back-to) are both given; keep one")
    if spec.own:
        return write_spec(_of_their_own(spec))
    check_rate(NAME, "to", spec.to)
    if spec.whole > QUEUE_MAX_RATE * len(spec.queues):
        raise Misused(
            f"ramp: to {spec.whole:g}/s needs at least {so_many(queues_needed(spec.whole))} of "
            f"500/s; the group has {len(spec.queues)}"
        )
    return write_spec(spec)


def _of_their_own(spec: RampSpec) -> RampSpec:
    if strange := sorted(spec.own.keys() - set(spec.queues)):
        raise Misused(f"ramp: own: {strange[0][:200]} is not one of the group's queues")
    for queue, rate in spec.own.items():
        if problem := queue_rate_problem(rate):
            raise Misused(f"ramp: own: {queue.rpartition('/')[2]}: {problem}")
    return replace(spec, queues=tuple(spec.own))


def look(operation: Operation, ports: Ports, now: float) -> RatesSeen:
    """See the queues, which must all run."""
    seen = look_at_rates(operation, ports, now, blind=_spec(operation).blind)
    idle = [queue.name for queue in seen.queues if queue.state != "RUNNING"]
    if idle and not operation.memory:
        raise Misused(
            f"{so_many(len(idle))} not running, such as {idle[0]}; "
            "resume them first: injector group resume"
        )
    return seen


def course_of(spec: RampSpec, seen: RatesSeen) -> Course:
    """Return the course from where the group is to where it is wanted."""
    before = {queue.name: queue.rate for queue in seen.queues}
    return Course(spec.rates, min(spec.whole, _start(spec, seen)), before=before)


def plan(operation: Operation, seen: RatesSeen, now: float) -> Plan:
    """Plan the steps up, or the one step down."""
    del now
    spec = _spec(operation)
    course = course_of(spec, seen)
    before = sum(queue.rate for queue in seen.queues)
    figures = {
        "group": f"{operation.group}, {so_many(len(spec.queues))} set to {before:.6g}/s together",
        "dispatches now": f"{_measured(seen):.6g}/s",
        "from": f"{course.initial:.6g}/s{_at_once(spec, seen)}",
        "to": f"{spec.whole:.6g}/s, {_each(spec)} a queue",
    }
    return rates_plan(
        course,
        lambda total: in_step(course.own, total=total),
        figures=figures,
        warnings=tuple(_warnings(spec, seen)),
    )


def advance(operation: Operation, seen: RatesSeen, now: float) -> Decided:
    """Take the next step if the ramp's rules allow it."""
    spec = _spec(operation)
    memory = operation.memory
    course = Course.from_fields(memory) if memory else course_of(spec, seen)
    return go_on(operation, course, seen, now, _conduct(spec))


def again(operation: Operation, seen: RatesSeen, now: float) -> Decided:
    """Finish an interrupted step if all is well."""
    return looked_again(operation, seen, now, _conduct(_spec(operation)))


def _conduct(spec: RampSpec) -> Conduct:
    return Conduct(settles=False, stops=spec.stop, blind=spec.blind, give_up_s=spec.give_up_s)


def _each(spec: RampSpec) -> str:
    least, most = min(spec.rates.values()), max(spec.rates.values())
    return f"{most:.6g}/s" if least == most else f"{least:.6g} to {most:.6g}/s"


def _spec(operation: Operation) -> RampSpec:
    return read_spec(operation.spec, RampSpec, kind=NAME)


def _start(spec: RampSpec, seen: RatesSeen) -> float:
    return max(SAFE_RATE, _measured(seen)) if spec.start is None else spec.start


def _at_once(spec: RampSpec, seen: RatesSeen) -> str:
    """Say why it does not begin where the group is: the way down has no steps."""
    start = _start(spec, seen)
    return f" at once, since {start:.6g}/s is above what is wanted" if start > spec.whole else ""


def _measured(seen: RatesSeen) -> float:
    """Return what the group dispatched a second, lately."""
    attempts: Sequence[int] = list(seen.standing.attempts.values()) if seen.standing else ()
    return sum(attempts) / seen.span_s if seen.span_s else 0.0


def _warnings(spec: RampSpec, seen: RatesSeen) -> Iterator[str]:
    warm = max(SAFE_RATE, _measured(seen))
    if spec.start is not None and min(spec.start, spec.whole) > warm * 1.001:
        yield f"start {spec.start:g}/s is above the {warm:.6g}/s that the group is warm for"
    if seen.standing and not spec.blind and not _measured(seen):
        yield (
            "the queues dispatch nothing now, and no step is taken on a rate that is not used: "
            "ramp while there is work, or blindly"
        )
    if spec.latency_s is None:
        return
    for queue in seen.queues:
        needed = concurrency_needed(spec.rates[queue.name], spec.latency_s)
        if needed > queue.concurrency:
            reached = queue.concurrency / spec.latency_s
            yield (
                f"{queue.name} may have {queue.concurrency} tasks under way, which at "
                f"{spec.latency_s:g} s each is {reached:.6g}/s; it needs {needed}"
            )


RAMP = Kind(NAME, check, look, plan, advance, again, QUEUE_VERBS, cancel)
