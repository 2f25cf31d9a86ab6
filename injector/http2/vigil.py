"""Telling by its silence that a peer is gone, without a clock (gRPC's keepalive, proposal A8)."""

from dataclasses import dataclass
from enum import Enum, auto

SILENT_S = 10.0
"""How long a server with calls under way may be silent; gRPC's clients ask no sooner either."""

ANSWER_S = 5.0
"""How long an answer to a ping may take: it is not work, and waits behind nothing."""

MOST_PINGS = 2
"""Of pings between two answers a server takes so many; more are strikes, which end in a GOAWAY of
ENHANCE_YOUR_CALM (proposal A8). A server that answered them lives, and its calls have deadlines."""


class Step(Enum):
    """What is to be done about a peer: nothing yet, ask it by a ping, or leave it as gone."""

    WAIT = auto()
    ASK = auto()
    LEAVE = auto()


@dataclass(slots=True)
class Vigil:
    """Watches over one connection while calls are under way on it. All times are in seconds."""

    silent_s: float = SILENT_S
    answer_s: float = ANSWER_S
    _pings: int = 0
    _asked_at: float | None = None

    def answered(self) -> None:
        """Hear that a call was answered, after which a server takes pings again."""
        self._pings = 0

    def look(self, *, now: float, heard: float) -> tuple[Step, float]:
        """Return what to do now, and in how many seconds to look again.

        `heard` is when the peer last said anything, or when the first of the calls now under way
        began, if that is later.
        """
        asked_at = self._asked_at
        if asked_at is not None and heard <= asked_at:
            left = asked_at + self.answer_s - now
            return (Step.WAIT, left) if left > 0 else (Step.LEAVE, 0.0)
        self._asked_at = None
        left = heard + self.silent_s - now
        if left > 0:
            return Step.WAIT, left
        if self._pings >= MOST_PINGS:
            return Step.WAIT, self.silent_s
        self._pings += 1
        self._asked_at = now
        return Step.ASK, self.answer_s
