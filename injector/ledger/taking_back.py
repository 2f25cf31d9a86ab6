"""What the ledger can be asked about the tasks of cancelled jobs that are to be deleted.

Times and errors are those of `ports`.
"""

from collections.abc import Sequence
from typing import Protocol

from injector.ledger.values import TakeBack


class TakeBacks(Protocol):
    """Cancelled jobs whose waiting tasks are to be deleted."""

    def ask(self, job_id: str, *, not_before: float, now: float, who: str = "") -> TakeBack:
        """Want the waiting tasks of a cancelled job back; asked again, it is the same wish.

        Raises `NotFound`, and `Conflict` for a job that is not cancelled.
        """

    def of(self, job_id: str) -> TakeBack | None:
        """Return how far it is; None when it was not asked for."""

    def open(self, group: str, *, now: float) -> Sequence[TakeBack]:
        """Return the group's take-backs that can go on now."""

    def advance(self, found: TakeBack, *, past: int, deleted: int, gone: int) -> bool:
        """Note that the chunks up to `past` are done; False when someone else was quicker."""
