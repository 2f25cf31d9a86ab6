"""Emergency expansion: queues whose names sort evenly between those that are there.

Cloud Tasks keeps queues by name and moves load between neighbours, so a queue that sorts between
two busy ones may be used at once, where one at the end of the range would be cold. The service's
bounds: at most half as many new queues as there are, each below 500 tasks/s, and again by as much
every 5 minutes.
"""

import math
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from itertools import pairwise

from injector.errors import Misused
from injector.pacing.ramp import QUEUE_MAX_RATE, SAFE_INTERVAL_S
from injector.queue_names import so_many
from injector.wording import are

MOST_NEW = 0.5
MAX_QUEUE_ID = 100

_NAME = re.compile(r"(.*\d)([a-z]?)")


def interleave(queues: Sequence[str]) -> tuple[str, ...]:
    """Name the next new queues: every second number gets the next letter, `q-0000a`, `q-0002a` ….

    Then those numbers that have no letter yet, then the next letter, so that each round is even.
    Raises Misused when the names leave no room for that.
    """
    letters = _letters(queues)
    least = min(letters.values(), default="")
    stems = [stem for stem, letter in letters.items() if letter == least]
    most = int(len(queues) * MOST_NEW)
    chosen = stems if len(stems) <= most else _every_second(stems)[:most]
    new = tuple(stem + _next(least) for stem in chosen)
    if problem := _names_problem(queues, new):
        raise Misused(problem)
    return new


def is_even(queues: Sequence[str], new: Sequence[str]) -> bool:
    """Tell whether each new queue sorts behind another of those there are, evenly spread."""
    ordered = sorted(queues)
    places = [bisect(ordered, name) for name in sorted(new)]
    if not places or places[0] == 0 or len(set(places)) < len(places):
        return False
    ends = (0, *places, len(ordered))
    widest = max(later - earlier for earlier, later in pairwise(ends))
    return widest <= 2 * math.ceil(len(ordered) / len(places))


def bound_problems(
    *, queues: int, new: int, creates_per_s: float, since_last_s: float = math.inf
) -> Iterator[str]:
    """Say which bounds of an emergency expansion this one breaks, with the figures.

    `creates_per_s` is what the whole group gets, `since_last_s` how long ago the last one was.
    """
    if new > queues * MOST_NEW:
        yield (
            f"{so_many(new, 'new')} {are(new)} {new / queues:.0%} of the {queues} there are; "
            f"at most 50 % may be new at once: {int(queues * MOST_NEW)}"
        )
    each = creates_per_s / (queues + new)
    if each >= QUEUE_MAX_RATE:
        yield (
            f"{creates_per_s:,.0f} tasks/s are {each:,.0f}/s for each of {queues + new} queues, "
            f"and a new one must stay below {QUEUE_MAX_RATE:g}/s; lower the rate to below "
            f"{QUEUE_MAX_RATE * (queues + new):,.0f}/s first"
        )
    if since_last_s < SAFE_INTERVAL_S:
        yield (
            f"the last emergency expansion was {since_last_s:.0f} s ago; "
            f"again in {math.ceil(SAFE_INTERVAL_S - since_last_s)} s"
        )


def _letters(queues: Sequence[str]) -> dict[str, str]:
    """Return the last letter of each number, empty where it has none."""
    letters: dict[str, str] = {}
    for name in queues:
        found = _NAME.fullmatch(name)
        if not found:
            raise Misused(
                f"queue {name} does not end in a number, or a number and a letter, such as "
                "q-0042 or q-0042a; nothing can be sorted in behind it"
            )
        letters[found[1]] = max(letters.get(found[1], ""), found[2])
    return letters


def _every_second(stems: Sequence[str]) -> list[str]:
    """Choose the even numbers, or every second one where the numbers are not consecutive."""
    even = [stem for stem in stems if stem[-1] in "02468"]
    return even if 0 <= len(stems) - 2 * len(even) <= 1 else sorted(stems)[::2]


def _next(letter: str) -> str:
    if letter == "z":
        raise Misused("all 26 letters are used up; expand the group on the curve instead")
    return chr(ord(letter) + 1) if letter else "a"


def _names_problem(queues: Sequence[str], new: Sequence[str]) -> str:
    if not new:
        return f"{so_many(len(queues))}: no room for half as many; expand on the curve instead"
    long = next((name for name in new if len(name.rpartition("/")[2]) > MAX_QUEUE_ID), "")
    if long:
        return f"{long} is over the {MAX_QUEUE_ID} characters that a queue id may have"
    if not is_even(queues, new):
        return (
            "the new names would not sort evenly between the old ones; number the queues with "
            "leading zeros, such as q-[0000-0199], or expand on the curve"
        )
    return ""
