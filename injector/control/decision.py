"""What becomes of a group's rate at a tick: the rule, without clock, queue or ledger.

A tick asks `evidence_from` since when to add up the signals, looks at the injector queues and
the jobs, and calls `decide`. It then, in this order: sets the queues to `Decision.shares` if
`apply` says so, saves `Decision.state` with the version it had read (who loses that race drops
its decision: both had computed the same), and feeds on `Decision.curve`. A crash in between
repeats the same decision at the next tick.

Rates are operations per second. An operation is an injector task here; the same rules ramp a
target group's dispatches, with attempts at the target as signals.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from injector.control.ramp_state import Observation, RampState
from injector.control.rules import (
    Case,
    Kind,
    Thresholds,
    Verdict,
    Words,
    create_p95_s,
    idle_after_s,
    judge,
    same,
)
from injector.pacing.limiter import concurrency_needed
from injector.pacing.ramp import QUEUE_MAX_RATE, Ramp

__all__ = ["Decision", "Kind", "Observation", "RampState", "Thresholds", "Words", "decide"]

QUEUE_MAX_CONCURRENCY = 5000
_DEFAULT = Thresholds()
_WORDS = Words()


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do, and why, in words for a person.

    `apply` says whether the queues must be told; `state` is to be saved in any case. `notices`
    are things that a person should know and that changed nothing. `healthy` says that nothing is
    amiss, whatever the kind.

    The feed follows `curve`, which began at `origin` in Unix seconds. It holds the step that is
    due next, since tasks are fed minutes ahead of it; as long as that step is not taken, the
    queue's own rate holds them back. `due_in_s` is the least time until a step up; a tick that
    can wait that long may decide again then, so that ticks which come a second early do not cost
    a minute each.
    """

    kind: Kind
    rate: float
    concurrency: int
    reason: str
    state: RampState
    apply: bool
    curve: Ramp
    origin: float
    due_in_s: float
    healthy: bool
    notices: tuple[str, ...] = ()

    def shares(self, queues: int) -> list[tuple[float, int]]:
        """Return the rate and the concurrency of each of that many injector queues.

        All of them work from the first step on, so that none is cold when it is needed. Together
        they have the group's concurrency, or one each where that is less.
        """
        rate = min(self.rate / queues, QUEUE_MAX_RATE)
        each, left = divmod(self.concurrency, queues)
        counts = (each + (place < left) for place in range(queues))
        return [(rate, min(max(1, count), QUEUE_MAX_CONCURRENCY)) for count in counts]


def decide(  # noqa: PLR0913
    state: RampState,
    seen: Observation,
    now: float,
    *,
    ramp: Ramp,
    limits: Thresholds = _DEFAULT,
    words: Words = _WORDS,
) -> Decision:
    """Decide on the group's rate: the first rule that has something to say says it.

    `ramp` is the group's, as configured now; `now` is in Unix seconds. At most one step is
    taken, whatever time has passed; a raise needs `ramp.interval_s` of running time since the
    last change, a rate that was used, and nothing that warns.
    """
    case = _brought_up(Case(state, seen, now, ramp, limits, words=words))
    return _decision(case, judge(case))


def _brought_up(case: Case) -> Case:
    """Let the ramp's clock run on, and measure."""
    state, seen, now = case.state, case.seen, case.now
    gap_s, notice = _running_time(case)
    state = replace(
        state,
        ticked_at=_ticked_at(case),
        elapsed_s=state.elapsed_s + gap_s,
        changed_at=min(state.changed_at, now),
        active_at=min(max(state.active_at, seen.active_at or 0.0), now),
    )
    if _measurable(case, state):
        state = replace(state, reached=_reached(case))
    notices = tuple(each for each in (notice, _found_higher(case)) if each)
    return replace(case, state=state, notices=notices)


def _running_time(case: Case) -> tuple[float, str]:
    """Return how much of the time since the last tick counts, and what is odd about it."""
    gap_s = case.now - case.state.ticked_at if case.state.ticked_at else 0.0
    if gap_s < -case.limits.longest_gap_s:
        return 0.0, f"the clock was set back by {-gap_s:.0f} s; that time does not count"
    if gap_s < 0:
        return 0.0, ""
    if case.seen.halted or not case.seen.work:
        return 0.0, ""
    if gap_s > case.limits.longest_gap_s:
        return 0.0, f"the last {gap_s:.0f} s, paused or without a tick, do not count"
    return gap_s, ""


def _ticked_at(case: Case) -> float:
    """Return from when on time is to be counted.

    Where the clocks of two controllers differ, or one was slow, the time that the other has
    counted already stays counted; only a clock that was set back begins anew.
    """
    is_set_back = case.now < case.state.ticked_at - case.limits.longest_gap_s
    return case.now if is_set_back else max(case.now, case.state.ticked_at)


def _measurable(case: Case, state: RampState) -> bool:
    """Say whether the span tells a rate: long enough, and without idleness at its end."""
    long_enough = case.seen.span_s >= min(60.0, case.ramp.interval_s / 2)
    return case.seen.work and long_enough and case.now - state.active_at <= idle_after_s(state.rate)


def _reached(case: Case) -> float:
    """Return the rate really reached: what has ended, and what must be under way (Little)."""
    signals, rate = case.seen.signals, case.state.rate
    under_way = rate * (signals.fan_out_time.quantile_s(0.95) or 0.0) + 1
    reached = min(rate, (signals.fan_outs + under_way) / case.seen.span_s)
    counted = reached >= case.limits.counted * rate
    return rate if counted else reached


def _found_higher(case: Case) -> str:
    found, rate = case.seen.found_rate, case.state.rate
    if found is None or not rate or same(found, rate) or found < rate:
        return ""
    return (
        f"someone set {case.words.queues} to {found:g}/s; it is left alone, and the ramp goes on "
        f"at {rate:g}/s"
    )


def _decision(case: Case, verdict: Verdict) -> Decision:
    rate = case.state.rate if verdict.rate is None else verdict.rate
    concurrency = _concurrency(case, rate)
    state = _changed(case, verdict, rate, concurrency)
    apply = _must_apply(case, verdict, rate, concurrency)
    return Decision(
        verdict.kind,
        rate,
        concurrency,
        verdict.reason,
        state,
        apply,
        _curve(case, state, apply=apply),
        case.now - min(state.elapsed_s, case.ramp.interval_s),
        max(0.0, case.ramp.interval_s - state.elapsed_s),
        verdict.healthy,
        (*case.notices, *_too_small(case, rate)),
    )


def _changed(case: Case, verdict: Verdict, rate: float, concurrency: int) -> RampState:
    state = replace(case.state, concurrency=concurrency)
    if verdict.healthy:
        state = replace(state, baseline_s=_baseline(case))
    if verdict.healthy and state.elapsed_s >= case.ramp.interval_s:
        state = replace(state, good_rate=state.reached)
    if verdict.kind is Kind.START:
        state = replace(state, good_rate=0.0, baseline_s=None, reached=rate)
    if verdict.rate is None:
        return state
    return replace(state, rate=rate, changed_at=case.now, elapsed_s=0.0)


def _baseline(case: Case) -> float | None:
    known = (case.state.baseline_s, create_p95_s(case))
    return min((each for each in known if each is not None), default=None)


def _concurrency(case: Case, rate: float) -> int:
    """Return what the rate needs; a need between half and the whole of what is set stays.

    At least a second's worth, since a fan-out may be slow before any was measured so, and no
    more than the service takes: beyond that it could answer nothing else, ticks included.
    """
    if case.seen.halted or not case.seen.work:
        return case.state.concurrency
    measured = case.seen.signals.fan_out_time.quantile_s(0.95)
    fan_out_s = case.limits.assumed_fan_out_s if measured is None else measured
    needed = max(
        concurrency_needed(rate, fan_out_s, headroom=case.limits.headroom), math.ceil(rate)
    )
    most = math.inf if case.seen.capacity is None else case.seen.capacity
    needed, kept = int(min(needed, most)), case.state.concurrency
    return kept if kept / 2 <= needed <= kept <= most else needed


def _too_small(case: Case, rate: float) -> Iterator[str]:
    """Say so when the service cannot take as many fan-outs at once as the rate needs."""
    fan_out_s, capacity = case.seen.signals.fan_out_time.mean_s, case.seen.capacity
    if not case.seen.work or fan_out_s is None or capacity is None:
        return
    if (needed := concurrency_needed(rate, fan_out_s)) > capacity:
        yield (
            f"{rate:g}/s needs {needed} fan-outs at once, and the service takes {capacity}; "
            "more threads, workers or instances would help"
        )


def _must_apply(case: Case, verdict: Verdict, rate: float, concurrency: int) -> bool:
    """Say whether the queues must be told: on change, and not against a person's higher rate."""
    if verdict.kind in (Kind.FINISH, Kind.HOLD) and concurrency == case.state.concurrency:
        return False
    found = case.seen.found_rate
    raised_by_hand = found is not None and case.state.rate > 0 and found > rate
    return verdict.kind in (Kind.START, Kind.CUT, Kind.EASE) or not raised_by_hand


def _curve(case: Case, state: RampState, *, apply: bool) -> Ramp:
    """Follow the ramp from here: what it may allow next is fed even while it is held back.

    Else a step after a hold would show only once all that was fed before is dispatched, and the
    next step would come before this one was used for its time. The queues hold back what is not
    allowed yet; where someone has set them higher, no more than the rate is fed.
    """
    curve = case.ramp.starting_at(state.rate or case.ramp.start_rate)
    found = case.seen.found_rate
    held_back = apply or found is None or found <= state.rate or same(found, state.rate)
    return curve if held_back else replace(curve, growth=1.0)
