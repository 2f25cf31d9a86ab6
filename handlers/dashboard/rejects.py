"""Rejects looked through for a text, so far and no further."""

from collections.abc import Sequence
from dataclasses import dataclass

from injector.ledger.ports import Jobs, Reject

SHOWN = 50
READ_AT_ONCE = 500
READS = 10


@dataclass(frozen=True, slots=True)
class Found:
    """Rejects that hold the text; `next` is the ordinal to go on after, None at the end."""

    rejects: Sequence[Reject]
    next: int | None


def find(jobs: Jobs, job: str, text: str, *, after: int) -> Found:
    """Return the first rejects beyond the ordinal `after` whose reason or line holds the text.

    Reads a bounded number of rejects, so that a million of them cost no more than a few
    thousand; then there may be none to show and yet a `next`.
    """
    found: list[Reject] = []
    for _ in range(READS):
        read = jobs.rejects(job, after=after, limit=READ_AT_ONCE)
        for reject in read:
            if _holds(reject, text.casefold()):
                found.append(reject)
            after = reject.ordinal
            if len(found) == SHOWN:
                return Found(found, after)
        if len(read) < READ_AT_ONCE:
            return Found(found, None)
    return Found(found, after)


def _holds(reject: Reject, text: str) -> bool:
    place = f"{reject.file} {reject.line}"
    return text in reject.reason.casefold() or text in place.casefold()
