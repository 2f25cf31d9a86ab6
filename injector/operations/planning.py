"""Plans of operations that change dispatch rates."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from injector.operations.course import Course
from injector.operations.rates import left_s
from injector.operations.values import Line, Plan, PlannedStep
from injector.pacing.ramp import QUEUE_MAX_RATE, SAFE_INTERVAL_S, Ramp
from injector.queue_names import so_many
from injector.wording import counted

TITLE = "dispatches/s allowed"

Deal = Callable[[float], Mapping[str, float]]
"""Deals a total out to queues."""


def rates_plan(
    course: Course, deal: Deal, *, figures: Mapping[str, str], warnings: Sequence[str] = ()
) -> Plan:
    """Plan the way from the first total to the last, dealt out at each step."""
    totals = list(totals_of(course.curve))
    points = tuple((at, total) for at, total in totals)
    seconds = left_s(course)
    return Plan(
        figures={**figures, "time": f"{seconds / 60:g} minutes, if all goes well"},
        steps=tuple(_step(at, total, deal(total)) for at, total in totals),
        title=TITLE,
        lines=(Line("allowed", points),),
        warnings=tuple(warnings),
        seconds=seconds,
    )


def totals_of(curve: Ramp) -> Iterator[tuple[float, float]]:
    """Yield the total of each step with its second."""
    for step in range(curve.steps_to_cap() + 1):
        at = step * SAFE_INTERVAL_S
        yield at, curve.rate_at(at)


def _step(at: float, total: float, dealt: Mapping[str, float]) -> PlannedStep:
    rates = sorted(dealt.values())
    figures = {"dispatches/s": round(total, 3), "queues": len(rates)}
    span = f"{rates[0]:.6g}/s" if rates[0] == rates[-1] else f"{rates[0]:.6g} to {rates[-1]:.6g}/s"
    return PlannedStep(at, f"{so_many(len(rates))} at {span}", figures)


def queues_needed(rate: float) -> int:
    """Return how many queues a rate takes, at 500/s each."""
    return max(1, -int(-rate // QUEUE_MAX_RATE))


def drained(tasks: int, course: Course) -> str:
    """Say how long so many waiting tasks take on the course, if nothing else is slower."""
    return f"{counted(tasks, 'task')}, gone after {course.curve.time_of(tasks) / 60:.1f} minutes"
