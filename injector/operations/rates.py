"""What the operations that change dispatch rates have in common: look, go on, plan."""

from collections.abc import Sequence
from dataclasses import replace

from injector.control.rules import Kind as Verdict
from injector.control.rules import same
from injector.delivery.ports import Queue
from injector.operations.acts import resume, set_rate
from injector.operations.course import Conduct, Course, Moved, RatesSeen, move
from injector.operations.values import Act, Decided, Operation, State
from injector.pacing.ramp import SAFE_INTERVAL_S

ROUND_S = 60.0
CHANGES = (Verdict.START, Verdict.RAISE, Verdict.CUT, Verdict.EASE)


def go_on(
    operation: Operation, course: Course, seen: RatesSeen, now: float, conduct: Conduct
) -> Decided:
    """Move the course on, and say what that means for the operation and its queues."""
    moved = move(course, seen, now, conduct)
    acts = acts_of(moved, course, seen.queues)
    operation = replace(operation, memory=moved.course.to_fields())
    return _queues_in_words(_gone_on(operation, moved, now), moved), acts


def _gone_on(operation: Operation, moved: Moved, now: float) -> Operation:
    if moved.done:
        return operation.ending(State.DONE, f"done: {_words(moved)}", now=now)
    if moved.stopped:
        return operation.ending(State.PAUSED, moved.stopped, now=now)
    next_at = now + min(ROUND_S, moved.decision.due_in_s or ROUND_S)
    ends_at = now + left_s(moved.course)
    if moved.decision.kind in CHANGES:
        return operation.stepping(_words(moved), next_at=next_at, ends_at=ends_at)
    return operation.going_on(_words(moved), next_at=next_at, ends_at=ends_at)


def _queues_in_words(operation: Operation, moved: Moved) -> Operation:
    left = 0 if moved.done else steps_left(moved.course)
    return replace(operation, steps=operation.step + left)


def acts_of(moved: Moved, before: Course, queues: Sequence[Queue]) -> Sequence[Act]:
    """Return the changes that bring each queue to what is wanted of it.

    A rate is set before its queue is opened. One that someone has set higher by hand meanwhile
    is left alone, unless the rate has to go down.
    """
    acts: list[Act] = []
    goes_down = moved.decision.kind in (Verdict.CUT, Verdict.EASE)
    for queue in queues:
        wanted = moved.wanted.get(queue.name)
        if wanted is None:
            continue
        held = before.held.get(queue.name)
        by_hand = held is not None and queue.rate > held and not same(queue.rate, held)
        if queue.rate != wanted and (goes_down or moved.done or not by_hand):
            acts.append(set_rate(queue.name, wanted))
        if queue.name not in before.opened_at and queue.state == "PAUSED":
            acts.append(resume(queue.name))
    return acts


def steps_left(course: Course) -> int:
    """Return how many steps up are left."""
    if not course.ramp.rate:
        return course.curve.steps_to_cap()
    return course.curve.starting_at(course.ramp.rate).steps_to_cap()


def left_s(course: Course) -> float:
    """Return how long it takes if all goes well: the steps that are left, and a look after."""
    steps = steps_left(course) + 1
    return max(0.0, steps * SAFE_INTERVAL_S - course.ramp.elapsed_s)


def queues_in_words(number: int) -> str:
    """Say how many queues."""
    return f"{number} queue{'' if number == 1 else 's'}"


def _words(moved: Moved) -> str:
    whole = sum(moved.course.own.values())
    opened = queues_in_words(len(moved.wanted))
    place = f"{moved.decision.rate:.6g}/s of {whole:.6g}/s, {opened} open"
    if moved.done:
        return f"each of {len(moved.course.own)} queues has its rate, {whole:.6g}/s together"
    notices = "".join(f"; {notice}" for notice in moved.decision.notices)
    return f"{place}: {moved.decision.reason}{notices}"


def left_behind(operation: Operation, *, now: float) -> Decided:
    """Cancel a way to higher rates half-way, and say what that leaves behind.

    The rates stay low: to raise them at once is what the operation was to prevent.
    """
    if not operation.memory:
        return operation.ending(State.CANCELLED, "cancelled before anything was set", now=now), ()
    course = Course.from_fields(operation.memory)
    low = [queue for queue, rate in course.held.items() if not same(rate, course.own[queue])]
    closed = len(course.own) - len(course.held)
    whole = sum(course.own.values())
    reason = (
        f"cancelled: {len(low)} queues keep a lowered rate, {closed} stay paused; their own rates "
        f"are {whole:.6g}/s together, to which `injector group ramp` leads"
    )
    return operation.ending(State.CANCELLED, reason, now=now), ()
