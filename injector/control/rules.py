"""The rules of the ramp: each looks at a tick's whole case and has a verdict, or none.

They stand in the order in which they are asked; the first verdict counts.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from injector.control.ramp_state import Observation, RampState
from injector.pacing.ramp import Ramp, warmth

IDLE_S, IDLE_OPERATIONS = 60.0, 6.0
"""How long a group may show no operation without being idle: signals come by the minute, and of
a slow group not by every minute."""


class Kind(StrEnum):
    """What a decision does: begin, go up, stay, go down for cause, follow use down, or rest."""

    START = "start"
    RAISE = "raise"
    HOLD = "hold"
    CUT = "cut"
    EASE = "ease"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Where healthy ends. Shares are of 1; the rest says its unit.

    Shares are judged from `least_creates` on. `quiet_s` is a create latency too short to be a
    sign of anything. `longest_gap_s` between ticks is what the feed bridges; beyond it the
    queues ran dry, so the time does not count. `counted` is how much of the rate must show in
    counts taken by the minute to be the whole of it.
    """

    used: float = 0.8
    counted: float = 0.99
    warn_faults: float = 0.01
    cut_faults: float = 0.05
    cut_throttled: float = 0.10
    warn_targets: float = 0.05
    warn_latency_times: float = 2.0
    quiet_s: float = 0.1
    backlog_s: float = 180.0
    cut_to: float = 0.5
    headroom: float = 2.0
    assumed_fan_out_s: float = 2.0
    least_creates: int = 100
    longest_gap_s: float = 180.0

    def on_clock(self, speed: float) -> "Thresholds":
        """Return the thresholds for a clock that runs so many times as fast as this machine's.

        What takes the machine a moment takes that many times as long by such a clock.
        """
        return replace(self, quiet_s=self.quiet_s * max(1.0, speed))


@dataclass(frozen=True, slots=True)
class Words:
    """How reasons name what is ramped: its operations, its queues, and one of them."""

    operations: str = "creates"
    queues: str = "the injector queues"
    queue: str = "an injector queue"


@dataclass(frozen=True, slots=True)
class Case:
    """A tick's whole case: the state brought up to now, and what was seen."""

    state: RampState
    seen: Observation
    now: float
    ramp: Ramp
    limits: Thresholds
    notices: tuple[str, ...] = ()
    words: Words = Words()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rule says. `rate` is the new rate; None leaves it as it is.

    `healthy` says that nothing is amiss.
    """

    kind: Kind
    reason: str
    rate: float | None = None
    healthy: bool = False


def judge(case: Case) -> Verdict:
    """Return the first verdict."""
    return next((verdict for rule in _RULES if (verdict := rule(case))), _step(case))


def _halted(case: Case) -> Verdict | None:
    if not case.seen.halted:
        return None
    reason = f"{case.words.queue} is {case.seen.halted}; the ramp's clock stands still"
    return Verdict(Kind.HOLD, reason)


def _idle(case: Case) -> Verdict | None:
    if case.seen.work:
        return None
    return Verdict(
        Kind.FINISH, "no running job has anything left to feed or to settle", healthy=True
    )


def _cold(case: Case) -> Verdict | None:
    """Begin again where idleness has left the group."""
    state, ramp = case.state, case.ramp
    if not state.rate:
        return _start(f"begins at {ramp.start_rate:g}/s", ramp.start_rate)
    idle_s = _idle_s(case)
    warm = warmth(ramp, reached=state.reached, idle_s=idle_s)
    if idle_s <= idle_after_s(state.rate) or warm >= state.rate:
        return None
    return _start(f"begins at {warm:g}/s: idle for {idle_s / 60:.1f} min", warm)


def _idle_s(case: Case) -> float:
    return case.now - max(case.state.active_at, case.state.changed_at)


def idle_after_s(rate: float) -> float:
    """Return after how long without an operation a group that ran at the rate is idle."""
    return max(IDLE_S, IDLE_OPERATIONS / rate) if rate else IDLE_S


def _start(reason: str, rate: float) -> Verdict:
    return Verdict(Kind.START, reason, rate, healthy=True)


def _over_the_cap(case: Case) -> Verdict | None:
    if case.state.rate <= case.ramp.max_rate:
        return None
    return Verdict(Kind.CUT, f"the cap is {case.ramp.max_rate:g}/s now", case.ramp.max_rate)


def _found_lower(case: Case) -> Verdict | None:
    """Take over a rate that someone has lowered, and climb from there."""
    found, rate = case.seen.found_rate, case.state.rate
    if found is None or same(found, rate) or found > rate:
        return None
    reason = f"someone set {case.words.queues} to {found:g}/s, not {rate:g}/s; climbs on"
    return Verdict(Kind.HOLD, reason, found)


def _overloaded(case: Case) -> Verdict | None:
    """Halve the rate, though never below the initial one."""
    reason = _overload(case)
    if not reason:
        return None
    lowest = min(case.ramp.initial_rate, case.state.rate)
    rate = max(lowest, case.state.rate * case.limits.cut_to)
    if rate == case.state.rate:
        return Verdict(Kind.HOLD, f"{reason}; {rate:g}/s is the least")
    return Verdict(Kind.CUT, reason, rate)


def _overload(case: Case) -> str:
    signals, limits = case.seen.signals, case.limits
    if signals.creates < limits.least_creates:
        return ""
    if signals.throttled_share >= limits.cut_throttled:
        return f"the throttle rejects {signals.throttled_share:.1%} of the {case.words.operations}"
    if signals.sent >= limits.least_creates and signals.fault_share >= limits.cut_faults:
        return _faulty(case)
    return ""


def _faulty(case: Case) -> str:
    signals = case.seen.signals
    share, codes = f"{signals.fault_share:.1%}", _codes(signals.faults)
    return f"{share} of the {case.words.operations} end in {codes}"


def _warned(case: Case) -> Verdict | None:
    signals, limits, seen = case.seen.signals, case.limits, case.seen
    enough = signals.sent >= limits.least_creates
    if enough and signals.fault_share >= limits.warn_faults:
        return Verdict(Kind.HOLD, _faulty(case))
    if slow := _slow(case):
        return Verdict(Kind.HOLD, slow)
    if signals.target_attempts >= limits.least_creates and (
        signals.target_fault_share >= limits.warn_targets
    ):
        return Verdict(
            Kind.HOLD, f"the target fails {signals.target_fault_share:.1%} of its attempts"
        )
    if seen.backlog_s is not None and seen.backlog_s > limits.backlog_s:
        return Verdict(Kind.HOLD, f"the group's queues are {seen.backlog_s:.0f} s behind")
    return None


def _slow(case: Case) -> str:
    p95, baseline = create_p95_s(case), case.state.baseline_s
    if p95 is None or baseline is None:
        return ""
    if p95 <= max(case.limits.quiet_s, case.limits.warn_latency_times * baseline):
        return ""
    return f"95 % of the creates take up to {p95:.2f} s, {p95 / baseline:.1f} times the usual"


def create_p95_s(case: Case) -> float | None:
    """Return the p95 of the create latency; None while there is too little to tell."""
    latency = case.seen.signals.latency
    return latency.quantile_s(0.95) if latency.count >= case.limits.least_creates else None


def _early(case: Case) -> Verdict | None:
    left_s = case.ramp.interval_s - case.state.elapsed_s
    if left_s < 0.001:  # Unix seconds as floats do not add up to the last digit
        return None
    reason = f"healthy; the next step is due in {math.ceil(left_s)} s"
    return Verdict(Kind.HOLD, reason, healthy=True)


def _unused(case: Case) -> Verdict | None:
    """Take no step on a rate that was not used, and let one that is far from it follow down.

    Else a group that long ran slowly could leap to a rate that nobody has tried.
    """
    state, ramp = case.state, case.ramp
    if case.seen.span_s < ramp.interval_s / 2:
        return Verdict(Kind.HOLD, f"only {case.seen.span_s:.0f} s of it were seen")
    if (idle_s := _idle_s(case)) > idle_after_s(state.rate):
        reason = f"nothing was done for {idle_s / 60:.1f} min, so {state.rate:g}/s was not used"
        return Verdict(Kind.HOLD, reason, healthy=True)
    if state.reached >= case.limits.used * state.rate:
        return None
    reason = f"only {state.reached:.3g}/s of {state.rate:g}/s were used"
    follow = max(ramp.next_rate(state.reached), min(ramp.initial_rate, state.rate))
    if follow < state.rate:
        return Verdict(Kind.EASE, reason, follow, healthy=True)
    return Verdict(Kind.HOLD, reason, healthy=True)


def _at_the_cap(case: Case) -> Verdict | None:
    if case.state.rate < case.ramp.max_rate:
        return None
    reason = f"healthy at the cap of {case.ramp.max_rate:g}/s"
    return Verdict(Kind.HOLD, reason, healthy=True)


def _step(case: Case) -> Verdict:
    """Step up from what was reached, and on the way up again stop at the last good rate."""
    state, ramp = case.state, case.ramp
    rate, reason = ramp.next_rate(min(state.rate, state.reached)), "healthy and used"
    if state.rate < state.good_rate < rate:
        rate, reason = state.good_rate, f"{reason}; back to the last good rate"
    return Verdict(Kind.RAISE, reason, rate, healthy=True)


_RULES: tuple[Callable[[Case], Verdict | None], ...] = (
    _halted,
    _idle,
    _cold,
    _over_the_cap,
    _found_lower,
    _overloaded,
    _warned,
    _early,
    _unused,
    _at_the_cap,
)


def _codes(faults: Mapping[str, int]) -> str:
    """Name the two most frequent."""
    return ", ".join(sorted(faults, key=lambda code: -faults[code])[:2])


def same(found: float, rate: float) -> bool:
    """Tell whether a queue has the rate it was given, as far as the service keeps it."""
    return math.isclose(found, rate, rel_tol=1e-3)
