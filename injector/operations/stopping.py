"""What a clean stop of a change of rates leaves, and how to get back from there; pure."""

from collections.abc import Collection, Mapping

from injector.control.rules import same
from injector.operations.acts import RESUME, set_rate
from injector.operations.course import Course
from injector.operations.values import Decided, Operation, State
from injector.queue_names import so_many


def cancel(operation: Operation, now: float) -> Decided:
    """Cancel a change of rates half-way: what dispatches stays as it is, the rest goes back.

    To raise the rate of a queue that dispatches at once is what the operation was to prevent; one
    that does not gets back exactly the rate that it had before.
    """
    if not operation.memory:
        return operation.ending(State.CANCELLED, "cancelled before anything was set", now=now), ()
    course = Course.from_fields(operation.memory)
    at_rest = _at_rest(operation, course)
    acts = [set_rate(queue, course.was(queue), found=course.held[queue]) for queue in at_rest]
    reason = _in_words(operation, course, at_rest)
    return operation.ending(State.CANCELLED, reason, now=now), acts


def rates_before(operation: Operation) -> dict[str, float]:
    """Return what each queue dispatched at most before the operation; empty where it set none.

    Queues that someone else has set meanwhile are left to them, and so left out.
    """
    before, others = operation.memory.get("before"), operation.memory.get("others")
    theirs = others if isinstance(others, Mapping) else {}
    kept = before.items() if isinstance(before, Mapping) else ()
    return {str(queue): rate for queue, rate in kept if queue not in theirs}


def _at_rest(operation: Operation, course: Course) -> list[str]:
    """Name the queues whose rate was lowered and that nothing leaves yet.

    They are still paused, or wait for the instant from which on the curve climbs.
    """
    if not course.ramp.rate:
        return list(course.held)
    opened = [act.what for act in operation.acts_left if act.verb == RESUME]
    return [queue for queue in opened if queue in course.held]


def _in_words(operation: Operation, course: Course, at_rest: Collection[str]) -> str:
    open_ = {queue: rate for queue, rate in course.held.items() if queue not in at_rest}
    changed = [queue for queue, rate in open_.items() if not same(rate, course.was(queue))]
    kind = "lowered" if all(open_[queue] < course.was(queue) for queue in changed) else "changed"
    rest = len(course.own) - len(open_)
    left = f"cancelled: {so_many(len(changed))} left at a {kind} rate, {rest} as before"
    if not changed:
        return left
    whole = sum(map(course.was, course.own))
    return (
        f"{left}; `injector group ramp apply {operation.group} --back-to {operation.id}` leads "
        f"each to the rate that it had before, {whole:.6g}/s together"
    )
