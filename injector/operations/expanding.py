"""Which queues a group gets when it grows, and how the share of the new ones climbs; pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from injector.errors import Misused
from injector.operations.values import Line, PlannedStep
from injector.pacing.ramp import SAFE_GROWTH, SAFE_INTERVAL_S, Ramp
from injector.queue_names import so_many

_LAST_NUMBER = re.compile(r"(.*?)(\d+)(\D*)")


@dataclass(frozen=True, slots=True)
class ShareStep:
    """What the new queues get from a moment on, in creates/s and as a share of all."""

    at_s: float
    rate: float
    share: float


def following(queues: Sequence[str], *, to: int) -> tuple[str, ...]:
    """Name the queues that follow on, so that there are `to` in all: q-0200 after q-0199.

    Raises Misused where the names do not end in numbers, or need another digit.
    """
    if to <= len(queues):
        raise Misused(f"to {to} is not above the {so_many(len(queues))} that the group has")
    head, width, last = _numbered(queues)
    more = to - len(queues)
    if len(str(last + more)) > width:
        raise Misused(
            f"to {to} would need queue number {last + more}, and the names have {width} digits; "
            "their order would break: choose a smaller number, or make a new group"
        )
    return tuple(f"{head}{number:0{width}}" for number in range(last + 1, last + more + 1))


def _numbered(queues: Sequence[str]) -> tuple[str, int, int]:
    """Return what the names begin with, how many digits follow, and the last number."""
    found = [match for name in queues if (match := _LAST_NUMBER.fullmatch(name)) and not match[3]]
    heads = {(match[1], len(match[2])) for match in found}
    if len(heads) != 1:
        raise Misused(
            "the queues are not numbered alike, as in q-[0000-0199], so which names follow cannot "
            "be told; name the new queues by --add"
        )
    ((head, width),) = heads
    return head, width, max(int(match[2]) for match in found)


def share_steps(*, old: int, new: int, creates_per_s: float, first: float) -> list[ShareStep]:
    """Return how the new queues' share of the creates climbs on 500/50/5 to its even part."""
    even = new / (old + new)
    curve = Ramp(min(first, even * creates_per_s), SAFE_GROWTH, SAFE_INTERVAL_S)
    curve = Ramp(curve.initial_rate, SAFE_GROWTH, SAFE_INTERVAL_S, max_rate=even * creates_per_s)
    steps = range(curve.steps_to_cap() + 1)
    rates = [(step * SAFE_INTERVAL_S, curve.rate_at(step * SAFE_INTERVAL_S)) for step in steps]
    return [ShareStep(at, rate, rate / creates_per_s) for at, rate in rates]


def planned(steps: Sequence[ShareStep], *, creates_per_s: float) -> Iterator[PlannedStep]:
    """Show the steps as the guide's table does."""
    for step in steps:
        figures = {
            "new creates/s": round(step.rate, 1),
            "new %": round(step.share * 100, 2),
            "old %": round(100 - step.share * 100, 2),
        }
        yield PlannedStep(step.at_s, f"{step.rate:,.4g} of {creates_per_s:,.6g}/s", figures)


def lines(steps: Sequence[ShareStep], *, creates_per_s: float) -> tuple[Line, ...]:
    """Draw what the new and the old queues get."""
    new = tuple((step.at_s, step.rate) for step in steps)
    old = tuple((at, creates_per_s - rate) for at, rate in new)
    return Line("new queues", new), Line("old queues", old)
