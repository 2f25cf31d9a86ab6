"""What the ledger can be asked about whom to tell what: topics of events, and of jobs' ends.

Times and errors are those of `ports`.
"""

from collections.abc import Sequence
from typing import Protocol

from injector.ledger.values import AuditLine, Notice, RampDecision


class EventMarks(Protocol):
    """How far each topic has been told of what happened.

    What has a number just before it that is missing may yet come, so it is kept back unless it
    happened before `settled`.
    """

    def audit_after(
        self, topic: str, *, settled: float, limit: int
    ) -> Sequence[tuple[int, AuditLine]]:
        """Return what changed of jobs since the topic was told last, oldest first."""

    def decisions_after(
        self, topic: str, *, settled: float, limit: int
    ) -> Sequence[tuple[int, str, RampDecision]]:
        """Return the groups' decisions since the topic was told last, oldest first."""

    def started_after(self, topic: str, *, limit: int) -> Sequence[tuple[int, str, str, float]]:
        """Return number, id, group and time of the jobs that were begun since then."""

    def told(self, topic: str, source: str, number: int) -> None:
        """Note that the topic was told of that source's events up to this number."""


class Notices(Protocol):
    """Jobs whose end is to be told."""

    def due(self, group: str, *, now: float, limit: int = 10) -> Sequence[Notice]:
        """Return the group's notices to give by now, the oldest first."""

    def put_off(self, notice: Notice, *, until: float | None) -> None:
        """Note another try, and when the next one is due; None for no more."""
