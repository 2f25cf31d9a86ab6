"""What an operation is, what it decides to do, and what a plan of it shows.

Times are Unix seconds, spans end in `_s`. All of it is plain data, so that the ledger can keep
it and another process can go on with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

Fields = Mapping[str, object]
"""What JSON can hold, by name."""


class State(StrEnum):
    """Where an operation stands.

    running ⇄ paused; either → done, failed, rolled_back, cancelled, which are for good.
    """

    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    ROLLED_BACK = "rolled_back"
    CANCELLED = "cancelled"


LIVE = frozenset({State.RUNNING, State.PAUSED})
"""The states of an operation that still goes on, or may."""


@dataclass(frozen=True, slots=True)
class Act:
    """One change to carry out: `verb` says what is done, `what` to whom, and `values` how.

    It must be idempotent and absolute ("set this queue to 7.5/s", never "raise it by half"): a
    process that is killed between doing it and noting it does it again.
    """

    verb: str
    what: str
    values: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation on a group, as the ledger keeps it.

    `spec` is what was asked for and never changes; `memory` is the kind's own and changes with
    each decision. `acts` are those of the last decision, of which the first `acts_done` are
    done. `step` of `steps` is where it is; `steps` is 0 while that is not known. It is looked at
    again at `next_at`, and expected to end at `ends_at`, None while nobody can say. Of the
    operations of a group, one of each `slot` may be live.
    """

    id: str
    kind: str
    group: str
    spec: Fields
    slot: str = ""
    who: str = ""
    state: State = State.RUNNING
    step: int = 0
    steps: int = 0
    reason: str = ""
    memory: Fields = field(default_factory=dict)
    acts: tuple[Act, ...] = ()
    acts_done: int = 0
    started_at: float = 0.0
    next_at: float = 0.0
    ends_at: float | None = None
    ended_at: float | None = None
    version: int = 0

    @property
    def is_live(self) -> bool:
        """Tell whether it goes on, or may."""
        return self.state in LIVE

    @property
    def acts_left(self) -> tuple[Act, ...]:
        """Return what was decided and is not done yet."""
        return self.acts[self.acts_done :]

    @property
    def queues(self) -> tuple[str, ...]:
        """Return the full names of the queues that it is about; empty for one without."""
        named = self.spec.get("queues", ())
        return tuple(map(str, named)) if isinstance(named, list | tuple) else ()

    def going_on(self, reason: str, *, next_at: float, ends_at: float | None = None) -> "Operation":
        """Stay as it is, for this reason, until then."""
        return replace(self, reason=reason, next_at=next_at, ends_at=ends_at)

    def stepping(self, reason: str, *, next_at: float, ends_at: float | None = None) -> "Operation":
        """Go one step further."""
        return replace(self.going_on(reason, next_at=next_at, ends_at=ends_at), step=self.step + 1)

    def ending(self, state: State, reason: str, *, now: float) -> "Operation":
        """End, or pause, for this reason; the acts of this decision are still carried out."""
        ended = None if state in LIVE else now
        return replace(self, state=state, reason=reason, ended_at=ended, ends_at=ended, next_at=now)


Decided = tuple[Operation, Sequence[Act]]
"""The operation as it goes on, and what is to be done now."""


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """A step of a plan: when, in seconds from the start, what happens, and figures by name."""

    at_s: float
    what: str
    figures: Fields = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    """A curve of a plan's chart: values over seconds, each held until the next."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What an operation would do: figures by name, steps, curves, and what speaks against it.

    `title` says what the curves measure, such as "dispatches/s allowed".
    """

    figures: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[PlannedStep, ...] = ()
    title: str = ""
    lines: tuple[Line, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float | None = None
