"""The course of a group's dispatch rate: decided by the ramp's own rules, dealt out to queues.

A total rate climbs on 500/50/5 as the controller's does, with attempts at the target as
evidence. What is new here is the dealing: queues open one after the other, or all in step; and
a queue that keeps up with its tasks counts as what it really dispatches.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

import msgspec

from injector.control.decision import Decision, decide
from injector.control.ramp_state import Observation, RampState
from injector.control.rules import Kind, Thresholds, Words, same
from injector.control.standing import Standing
from injector.delivery.ports import Queue
from injector.operations.dealing import in_step, in_turn
from injector.operations.values import Fields
from injector.pacing.ramp import SAFE_GROWTH, SAFE_INTERVAL_S, Ramp
from injector.pacing.signals import NOT_ACCEPTED, Signals

BEHIND_S = 15.0
"""How late attempts leave a queue that cannot keep up."""

SEEN_S = 60.0
WORDS = Words("attempts", "the queues", "a queue")
LIMITS = Thresholds(used=0.95)
"""A cold queue reaches its share minutes after a step; until it has it for a whole interval, the
next step would come on top of that climb, and 5 minutes would outgrow those before by more."""


@dataclass(frozen=True, slots=True)
class Conduct:
    """How a kind of operation goes about it.

    `in_turn` opens queues one after the other, else all go in step. `settles` lets a queue that
    keeps up count as what it dispatches; without, the rate itself is what is wanted. `stops`
    pauses the operation when a rate had to be cut. `blind` goes by the clock alone. After
    `give_up_s` without a step it pauses.
    """

    in_turn: bool = False
    settles: bool = True
    stops: bool = False
    blind: bool = False
    give_up_s: float = 7200.0


@dataclass(frozen=True, slots=True)
class Course:
    """What is remembered between two looks; rates are in dispatches per second, by queue.

    `own` is what each queue is to have in the end, `held` what it was given, for the queues that
    are open, and `opened_at` since when. `before` is what each had when it began, and `others`
    what those have that someone else has set meanwhile, which are left to them. `stopped` says
    why it pauses once the last rates are set; empty while it goes on.
    """

    own: Mapping[str, float]
    initial: float
    before: Mapping[str, float] = field(default_factory=dict)
    others: Mapping[str, float] = field(default_factory=dict)
    held: Mapping[str, float] = field(default_factory=dict)
    opened_at: Mapping[str, float] = field(default_factory=dict)
    ramp: RampState = field(default_factory=RampState)
    stopped: str = ""

    @property
    def curve(self) -> Ramp:
        """The curve that the total climbs."""
        return Ramp(self.initial, SAFE_GROWTH, SAFE_INTERVAL_S, max_rate=sum(self.own.values()))

    def was(self, queue: str) -> float:
        """Return what a queue had before; its own rate where nobody noted that."""
        return self.before[queue] if queue in self.before else self.own[queue]

    def to_fields(self) -> Fields:
        """Write it down."""
        return {**asdict(self), "ramp": self.ramp.to_json()}

    @classmethod
    def from_fields(cls, fields: Fields) -> "Course":
        """Read what `to_fields` wrote."""
        ramp = RampState.from_json(str(fields["ramp"]))
        rest = {name: value for name, value in fields.items() if name != "ramp"}
        return replace(msgspec.convert(rest, cls), ramp=ramp)


@dataclass(frozen=True, slots=True)
class RatesSeen:
    """How the queues were found: as they are set, and what they did from `since` to `until`.

    `standing` is None where nobody knows.
    """

    queues: Sequence[Queue]
    standing: Standing | None
    since: float
    until: float

    @property
    def span_s(self) -> float:
        """Return how long a time was seen."""
        return max(0.0, self.until - self.since)


@dataclass(frozen=True, slots=True)
class Moved:
    """What a look led to: the course as it goes on, the rates wanted, and why.

    `done` says that every queue has its own rate, or keeps up; `stopped` why it must not go on.
    """

    course: Course
    decision: Decision
    wanted: Mapping[str, float]
    done: bool = False
    stopped: str = ""


def move(course: Course, seen: RatesSeen, now: float, conduct: Conduct) -> Moved:
    """Decide on the total by the rules of the ramp, and deal it out.

    While it is held for something that is amiss, nothing is dealt anew.
    """
    settled = _settled(course, seen) if conduct.settles else frozenset()
    observed = _observation(course, seen, now, conduct)
    words = _words(course, seen.queues)
    decision = decide(course.ramp, observed, now, ramp=course.curve, limits=LIMITS, words=words)
    if _is_done(course, settled, decision, now):
        return Moved(replace(course, held=dict(course.own)), decision, course.own, done=True)
    if decision.kind is Kind.HOLD and not decision.healthy:
        wanted: Mapping[str, float] = course.held
    else:
        wanted = _dealt(course, seen, settled, decision.rate, conduct)
    opened = {queue: course.opened_at.get(queue, now) for queue in wanted}
    after = replace(course, ramp=decision.state, held=wanted, opened_at=opened)
    return Moved(after, decision, wanted, stopped=_stopped(observed, decision, conduct))


def _settled(course: Course, seen: RatesSeen) -> frozenset[str]:
    """Name the open queues that were seen to keep up with their tasks."""
    if seen.standing is None or seen.span_s < SEEN_S:
        return frozenset()
    late = seen.standing.late_of
    return frozenset(
        queue
        for queue, opened_at in course.opened_at.items()
        if opened_at <= seen.since and late.get(queue, 0.0) <= BEHIND_S
    )


def _observation(course: Course, seen: RatesSeen, now: float, conduct: Conduct) -> Observation:
    """Put what was seen as the ramp's rules want it; blind, all is taken to go well.

    Where next to nothing could be seen yet, nobody can call the group idle.
    """
    signals = _signals(seen.standing.attempts if seen.standing else {})
    if conduct.blind:
        done = round(course.ramp.rate * seen.span_s)
        signals = Signals(accepted=done, fan_outs=done)
    return Observation(
        signals=signals,
        span_s=seen.span_s,
        active_at=now if signals.fan_outs or seen.span_s < SEEN_S else None,
        halted=next((queue.state.lower() for queue in _halted(course, seen.queues)), ""),
    )


def _signals(attempts: Mapping[str, int]) -> Signals:
    """Take attempts at the target for the operations: each was dispatched, and answered so."""
    total = sum(attempts.values())
    faults = {code: number for code, number in attempts.items() if code in NOT_ACCEPTED}
    return Signals(accepted=total - sum(faults.values()), faults=faults, fan_outs=total)


def _halted(course: Course, queues: Sequence[Queue]) -> Iterator[Queue]:
    """Yield the open queues that do not run."""
    return (queue for queue in queues if queue.name in course.held and queue.state != "RUNNING")


def _words(course: Course, queues: Sequence[Queue]) -> Words:
    """Let reasons name the queue that does not run."""
    names = [queue.name.rpartition("/")[2] for queue in _halted(course, queues)]
    return replace(WORDS, queue=names[0]) if names else WORDS


def _is_done(course: Course, settled: frozenset[str], decision: Decision, now: float) -> bool:
    """Tell whether all is reached, and was so for a step's time without anything amiss."""
    is_full = all(
        queue in settled or same(course.held.get(queue, 0.0), rate)
        for queue, rate in course.own.items()
    )
    if not is_full or not decision.healthy:
        return False
    return settled >= course.own.keys() or now - course.ramp.changed_at >= SAFE_INTERVAL_S


def _dealt(
    course: Course, seen: RatesSeen, settled: frozenset[str], total: float, conduct: Conduct
) -> dict[str, float]:
    """Deal the total out; who keeps up keeps its rate, and leaves the rest to the others."""
    attempts = seen.standing.attempts_of if seen.standing else {}
    used = sum(attempts.get(queue, 0) for queue in settled) / max(seen.span_s, 1.0)
    others = {queue: rate for queue, rate in course.own.items() if queue not in settled}
    kept = {queue: course.held[queue] for queue in settled}
    room = max(0.0, total - used)
    if not conduct.in_turn:
        return kept | in_step(others, total=room)
    opened = [queue for queue in course.held if queue in others]
    return kept | in_turn(others, total=room, opened=opened)


def _stopped(seen: Observation, decision: Decision, conduct: Conduct) -> str:
    """Say why the operation must not go on by itself; empty when it may."""
    failing = seen.signals.sent >= LIMITS.least_creates and (
        seen.signals.fault_share >= LIMITS.cut_faults
    )
    if conduct.stops and failing and decision.kind in (Kind.CUT, Kind.HOLD):
        return f"stopped: {decision.reason}"
    if not decision.due_in_s and decision.state.elapsed_s > conduct.give_up_s:
        return f"no step for {decision.state.elapsed_s / 3600:.1f} h: {decision.reason}"
    return ""
