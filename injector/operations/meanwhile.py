"""What others have changed between two looks, and what an interruption has left undone; pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from injector.control.ramp_state import RampState
from injector.control.rules import same
from injector.delivery.ports import Queue
from injector.operations.acts import RESUME, SET_RATE
from injector.operations.course import Course, RatesSeen
from injector.operations.values import Act


def still_holds(act: Act, queues: Sequence[Queue]) -> bool:
    """Tell whether what an act was decided on is still so, and it is not done yet.

    A rate that goes down is set unless it is that low already; one that goes up only where
    nobody else has set another meanwhile.
    """
    queue = next((queue for queue in queues if queue.name == act.what), None)
    if queue is None:
        return False
    if act.verb == RESUME:
        return queue.state == "PAUSED"
    wanted = float(str(act.values["rate"]))
    found = float(str(act.values.get("found", wanted)))
    if wanted < found:
        return queue.rate > wanted and not same(queue.rate, wanted)
    return same(queue.rate, found) and not same(queue.rate, wanted)


def as_if_done(seen: RatesSeen, acts: Sequence[Act]) -> RatesSeen:
    """Show the queues as they would be after the acts."""
    rates = {act.what: float(str(act.values["rate"])) for act in acts if act.verb == SET_RATE}
    opened = {act.what for act in acts if act.verb == RESUME}
    queues = [
        replace(
            queue,
            rate=rates.get(queue.name, queue.rate),
            state="RUNNING" if queue.name in opened else queue.state,
        )
        for queue in seen.queues
    ]
    return replace(seen, queues=queues)


def left_to_others(course: Course, queues: Sequence[Queue]) -> Course:
    """Give up the queues that someone else has set to another rate than they were given."""
    theirs = {
        queue.name: queue.rate
        for queue in queues
        if queue.name in course.held and not same(queue.rate, course.held[queue.name])
    }
    if not theirs:
        return course
    kept = replace(
        course,
        own=_without(course.own, theirs),
        opened_at=_without(course.opened_at, theirs),
        others={**course.others, **theirs},
    )
    return _holding(kept, course, _without(course.held, theirs))


def in_truth(course: Course, left: Sequence[Act], queues: Sequence[Queue]) -> Course:
    """Return the course as if no more had been decided than was done before the interruption."""
    found = {queue.name: queue for queue in queues}
    unset = {act.what for act in left if act.verb == SET_RATE}
    closed = {
        act.what: 0.0
        for act in left
        if act.verb == RESUME and act.what in found and found[act.what].state == "PAUSED"
    }
    held = {
        queue: found[queue].rate if queue in unset and queue in found else rate
        for queue, rate in _without(course.held, closed).items()
    }
    kept = replace(course, opened_at=_without(course.opened_at, closed))
    return _holding(kept, course, held)


def _holding(course: Course, before: Course, held: Mapping[str, float]) -> Course:
    """Let the course hold these rates, and the total follow; with none it has not begun."""
    whole, part = sum(before.held.values()), sum(held.values())
    if not (held and whole):
        return replace(course, held={}, ramp=RampState())
    ramp = course.ramp
    scaled = replace(ramp, rate=ramp.rate * part / whole, reached=ramp.reached * part / whole)
    return replace(course, held=held, ramp=scaled)


def _without(rates: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    return {queue: rate for queue, rate in rates.items() if queue not in others}
