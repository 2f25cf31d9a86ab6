"""Which chunks are due by when, as the ticks have fed them."""

from collections import deque
from dataclasses import dataclass

from injector.control.decision import Decision
from injector.pacing.ramp import Ramp
from injector.simulation.scenario import Scenario

ORIGIN = 86_400.0
"""The Unix second at which a simulated job starts: a whole minute, and after the epoch."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """From `start` on chunks are due on the curve, `base` of them by then."""

    start: float
    base: float
    curve: Ramp
    origin: float

    def grown(self, until: float) -> float:
        """Return how many chunks fall due on this piece by then."""
        by = self.curve.total_by(until - self.origin)
        return by - self.curve.total_by(self.start - self.origin)

    def time_of(self, number: float) -> float:
        """Return when that many chunks in all are due."""
        before = self.curve.total_by(self.start - self.origin)
        return self.origin + self.curve.time_of(before + number - self.base)


class Feed:
    """The schedule of a job's chunks; times are seconds from the job's start."""

    def __init__(self, scenario: Scenario) -> None:
        self._chunks = float(scenario.chunks)
        self._horizon_s = scenario.horizon_s
        self._pieces: deque[_Piece] = deque()
        self._until = 0.0

    def top_up(self, decision: Decision, *, t: float) -> None:
        """Feed from where the last feed ended to the horizon; what was missed is not caught up."""
        start = max(t, self._until)
        piece = _Piece(start, self.due(start), decision.curve, decision.origin - ORIGIN)
        self._pieces.append(piece)
        self._until = t + self._horizon_s
        while len(self._pieces) > 1 and self._pieces[1].start <= t:
            self._pieces.popleft()

    def due(self, t: float) -> float:
        """Return how many chunks are due by then."""
        piece = next((each for each in reversed(self._pieces) if each.start <= t), None)
        if piece is None:
            return 0.0
        return min(piece.base + piece.grown(min(t, self._until)), self._chunks)

    def time_of_last(self) -> float:
        """Return when the last chunk was due; 0 when that is long ago."""
        open_pieces = (each for each in reversed(self._pieces) if each.base < self._chunks)
        piece = next(open_pieces, None)
        return piece.time_of(self._chunks) if piece else 0.0
