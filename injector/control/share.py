"""How the jobs of a group share its rate: the highest priority first, then by weight.

Slots are counted from the group's first one on, and slot k goes to the job whose part of
[0, 1) holds the fraction of k times the golden ratio. These fractions are spread so evenly that
any run of slots, however short the tick that fills it, is divided as nearly by weight as whole
numbers allow, with nothing to remember but k.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

_GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, slots=True)
class Claim:
    """What a job asks of its group: at most `left` slots, and at most `cap` of all of them."""

    job: str
    left: int
    weight: float = 1.0
    priority: int = 0
    cap: float = 1.0


def deal(claims: Sequence[Claim], *, first: int, slots: int) -> list[str]:
    """Give the slots from `first` on to jobs; empty text for a slot that no job may have.

    A job that has all it wants leaves its part to the others.
    """
    left = {claim.job: claim.left for claim in claims}
    bounds = _bounds(claims)
    owners = []
    for number in range(first, first + slots):
        owner = _owner(bounds, number * _GOLDEN % 1)
        owners.append(owner)
        if owner:
            left[owner] -= 1
            if not left[owner]:
                bounds = _bounds([replace(claim, left=left[claim.job]) for claim in claims])
    return owners


def parts(claims: Sequence[Claim]) -> dict[str, float]:
    """Return which part of the group's rate each job gets that has anything left."""
    wanting = sorted((claim for claim in claims if claim.left), key=lambda claim: -claim.priority)
    found: dict[str, float] = {}
    for _, equals in groupby(wanting, key=lambda claim: claim.priority):
        found |= _by_weight(list(equals), room=max(0.0, 1 - sum(found.values())))
    return found


def _by_weight(claims: list[Claim], *, room: float) -> dict[str, float]:
    """Divide the room by weight; what a cap keeps from one job goes to the others."""
    weight = sum(claim.weight for claim in claims)
    capped = {claim.job: claim.cap for claim in claims if claim.cap < room * claim.weight / weight}
    if not capped:
        return {claim.job: room * claim.weight / weight for claim in claims}
    others = [claim for claim in claims if claim.job not in capped]
    return capped | (_by_weight(others, room=room - sum(capped.values())) if others else {})


def _bounds(claims: Sequence[Claim]) -> list[tuple[float, str]]:
    bounds, reached = [], 0.0
    for job, part in parts(claims).items():
        reached += part
        bounds.append((reached, job))
    return bounds


def _owner(bounds: list[tuple[float, str]], place: float) -> str:
    return next((job for bound, job in bounds if place < bound), "")
