"""What the operations that change dispatch rates have in common: go on, look again, stop."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from injector.control.rules import Kind as Verdict
from injector.control.rules import same
from injector.delivery.ports import Queue
from injector.operations.acts import resume, set_rate
from injector.operations.course import Conduct, Course, Moved, RatesSeen, move
from injector.operations.meanwhile import as_if_done, in_truth, left_to_others, still_holds
from injector.operations.values import Act, Decided, Operation, State
from injector.pacing.ramp import SAFE_INTERVAL_S
from injector.queue_names import so_many

ROUND_S = 60.0
SHOWN = 3
CHANGES = (Verdict.START, Verdict.RAISE, Verdict.CUT, Verdict.EASE)


def go_on(
    operation: Operation, course: Course, seen: RatesSeen, now: float, conduct: Conduct
) -> Decided:
    """Move the course on, and say what that means for the operation and its queues.

    It ends, or pauses, only at a look that finds the last rates set.
    """
    if course.stopped:
        paused = replace(operation, memory=replace(course, stopped="").to_fields())
        return paused.ending(State.PAUSED, course.stopped, now=now), ()
    course, before = left_to_others(course, seen.queues), course
    if not course.own:
        return operation.ending(State.PAUSED, _taken_over(before), now=now), ()
    moved = move(course, seen, now, conduct)
    acts = acts_of(moved, course, seen.queues)
    after = replace(moved.course, stopped=moved.stopped if acts else "")
    operation = replace(operation, memory=after.to_fields())
    return _with_steps(_gone_on(operation, moved, now, has_acts=bool(acts)), moved), acts


def again(operation: Operation, seen: RatesSeen, now: float, conduct: Conduct) -> Decided:
    """Finish an interrupted step if the rules would still let it be; else decide by what is there.

    A queue that someone else has set or opened meanwhile is left as it is. What a clean stop
    takes, and rates that are lowered before the curve begins, need no rules.
    """
    left = [act for act in operation.acts_left if still_holds(act, seen.queues)]
    course = Course.from_fields(operation.memory)
    if operation.state is not State.RUNNING or not course.ramp.rate:
        return operation, left
    as_decided = as_if_done(seen, left)
    kept = left_to_others(course, as_decided.queues)
    if kept.own and _lets_be(move(kept, as_decided, now, conduct)):
        ours = [act for act in left if act.what in kept.held]
        return replace(operation, memory=kept.to_fields()), ours
    done = in_truth(course, operation.acts_left, seen.queues)
    return go_on(operation, done, seen, now, conduct)


def _lets_be(moved: Moved) -> bool:
    kind, healthy = moved.decision.kind, moved.decision.healthy
    return moved.done or (healthy and kind in (Verdict.HOLD, Verdict.RAISE))


def _gone_on(operation: Operation, moved: Moved, now: float, *, has_acts: bool) -> Operation:
    if has_acts and moved.done:
        return operation.going_on("gives each queue its own rate", next_at=now, ends_at=now)
    if has_acts and moved.stopped:
        return operation.stepping(moved.stopped, next_at=now)
    if moved.done:
        return operation.ending(State.DONE, f"done: {_words(moved)}", now=now)
    if moved.stopped:
        return operation.ending(State.PAUSED, moved.stopped, now=now)
    next_at = now + min(ROUND_S, moved.decision.due_in_s or ROUND_S)
    ends_at = now + left_s(moved.course)
    if moved.decision.kind in CHANGES:
        return operation.stepping(_words(moved), next_at=next_at, ends_at=ends_at)
    return operation.going_on(_words(moved), next_at=next_at, ends_at=ends_at)


def _with_steps(operation: Operation, moved: Moved) -> Operation:
    left = 0 if moved.done else steps_left(moved.course)
    return replace(operation, steps=operation.step + left)


def acts_of(moved: Moved, before: Course, queues: Sequence[Queue]) -> Sequence[Act]:
    """Return the changes that bring each queue to what is wanted of it.

    A rate is set before its queue is opened.
    """
    acts: list[Act] = []
    for queue in queues:
        wanted = moved.wanted.get(queue.name)
        if wanted is None:
            continue
        if not same(queue.rate, wanted):
            acts.append(set_rate(queue.name, wanted, found=queue.rate))
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


def _words(moved: Moved) -> str:
    whole = sum(moved.course.own.values())
    opened = so_many(len(moved.wanted))
    place = f"{moved.decision.rate:.6g}/s of {whole:.6g}/s, {opened} open"
    notices = "".join(f"; {notice}" for notice in (*moved.decision.notices, *_theirs(moved.course)))
    if moved.done:
        own = len(moved.course.own)
        each = "the queue has its rate, " if own == 1 else f"each of {so_many(own)} has its rate, "
        return f"{each}{whole:.6g}/s{'' if own == 1 else ' together'}{notices}"
    return f"{place}: {moved.decision.reason}{notices}"


def _theirs(course: Course) -> Iterator[str]:
    """Name the queues that were left to whoever set them."""
    for queue, rate in islice(course.others.items(), SHOWN):
        yield f"someone set {queue.rpartition('/')[2]} to {rate:.6g}/s; it is left to them"
    if len(course.others) > SHOWN:
        yield f"and so are {len(course.others) - SHOWN} more"


def _taken_over(course: Course) -> str:
    return (
        f"someone else has set {so_many(len(course.held))}, which is all that are open, "
        f"to other rates than {sum(course.held.values()):.6g}/s together; set them back and "
        "resume this, or cancel it"
    )
