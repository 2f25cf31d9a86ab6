"""The causes that can hold a queue back, each as a rule over the queue's numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from injector.queues.diagnosis import cold
from injector.queues.diagnosis.codes import OVERLOAD, in_words
from injector.queues.diagnosis.evidence import MINUTE_S, QueueEvidence
from injector.queues.diagnosis.figures import Bounds, Figures, figures_of, waits
from injector.queues.diagnosis.verdict import Cause, Confidence, Finding
from injector.wording import counted


@dataclass(frozen=True, slots=True)
class Case:
    """A queue with its numbers, as the rules look at it."""

    queue: QueueEvidence
    figures: Figures
    bounds: Bounds

    @property
    def waits(self) -> bool:
        """Tell whether tasks wait that are due."""
        return waits(self.figures, self.bounds)

    @property
    def is_below(self) -> bool:
        """Tell whether the queue dispatches less than its settings allow."""
        return self.figures.rate < self.bounds.warm * self.figures.possible

    @property
    def is_at_own_limit(self) -> bool:
        """Tell whether the rate is the configured one, but for a single attempt."""
        return self.figures.rate + 1 / MINUTE_S >= self.bounds.at_limit * self.figures.limit

    @property
    def is_full(self) -> bool:
        """Tell whether as many attempts are under way as may be."""
        in_flight = self.figures.in_flight
        return in_flight is not None and in_flight >= self.bounds.in_use * self.figures.concurrency


def case_of(queue: QueueEvidence, bounds: Bounds) -> Case:
    """Put a queue's case together."""
    return Case(queue, figures_of(queue, bounds), bounds)


def findings(case: Case) -> Iterator[Finding]:
    """Yield what holds the queue back; several things may."""
    for rule in _RULES:
        if found := rule(case):
            yield found
            if found.cause in (Cause.PAUSED, Cause.STARVED):
                return


def unexplained(case: Case) -> bool:
    """Tell whether tasks wait without a cause that is known."""
    return case.waits and not any(findings(case))


def _paused(case: Case) -> Finding | None:
    state = case.queue.state
    if state == "RUNNING":
        return None
    depth = case.figures.depth
    held = "" if depth is None else f", with {counted(round(depth), 'task')} in it"
    return Finding(Cause.PAUSED, Confidence.HIGH, f"the queue is {state.lower()}{held}")


def _starved(case: Case) -> Finding | None:
    span = case.bounds.starved_minutes
    latest = case.queue.minutes[-span:]
    if len(latest) < span or any(minute.left or minute.attempts for minute in latest):
        return None
    if case.figures.depth:
        why = (
            f"no attempt for {span} minutes, and none of the {case.figures.depth:,.0f} tasks in "
            "the queue is due, or all that are due are under way"
        )
        return Finding(Cause.STARVED, Confidence.MEDIUM, why)
    sure = Confidence.MEDIUM if case.figures.depth is None else Confidence.HIGH
    return Finding(Cause.STARVED, sure, f"no attempt for {span} minutes, and no task to attempt")


def _congestion(case: Case) -> Finding | None:
    figures, bounds = case.figures, case.bounds
    failed = sum(figures.attempts.get(code, 0) for code in OVERLOAD)
    held = case.waits and case.is_below
    if failed >= 3 and figures.failing >= bounds.failing:
        sure = Confidence.HIGH if held or figures.failing >= 0.2 else Confidence.MEDIUM
        return Finding(Cause.CONGESTION, sure, _answers(figures))
    if held and figures.congested and not case.is_full:
        # A few answers are enough to hold a queue down: each of them lowers its rate.
        return Finding(Cause.CONGESTION, Confidence.MEDIUM, _answers(figures))
    return None


def _own_limit(case: Case) -> Finding | None:
    if not case.waits or not case.is_at_own_limit:
        return None
    why = f"{_pace(case.figures)}, which is its max_dispatches_per_second; {_waiting(case.figures)}"
    return Finding(Cause.OWN_LIMIT, Confidence.HIGH, why)


def _concurrency(case: Case) -> Finding | None:
    figures = case.figures
    if not case.waits:
        return None
    if case.is_full and case.queue.latency:
        sure = Confidence.MEDIUM if case.queue.latency.pooled else Confidence.HIGH
        why = (
            f"{_pace(figures)}: {figures.concurrency:,} at once of {figures.latency_s:.3g} s each "
            f"let {figures.capacity:.3g}/s through, and {figures.in_flight:,.0f} are under way"
        )
        return Finding(Cause.CONCURRENCY, sure, why)
    return _concurrency_by_shape(case)


def _concurrency_by_shape(case: Case) -> Finding | None:
    """Without logs, a flat rate below the limit is what only the concurrency makes of one."""
    figures = case.figures
    flat = cold.is_flat(case.queue.minutes, case.bounds)
    if case.queue.latency or figures.failing or not (case.is_below and flat):
        return None
    why = (
        f"{_pace(figures)}, and has not changed for minutes, without an error: that is so if the "
        f"target takes {figures.concurrency / figures.rate:.3g} s for a task"
    )
    return Finding(Cause.CONCURRENCY, Confidence.MEDIUM, why)


def _cold(case: Case) -> Finding | None:
    minutes, bounds = case.queue.minutes, case.bounds
    if not (case.waits and case.is_below and case.figures.rate) or case.is_full:
        return None
    if case.is_at_own_limit or _concurrency_by_shape(case):
        return None
    start = cold.start_of(minutes, bounds)
    if start is not None:
        if cold.is_warm_since(minutes, start, case.figures.possible, bounds):
            start = None
        else:
            return _cold_since(case, len(minutes) - start)
    return _coming_back(case)


def _cold_since(case: Case, minutes: int) -> Finding:
    climbs = cold.climbs(case.queue.minutes, case.bounds)
    sure = Confidence.HIGH if climbs and not case.figures.failing else Confidence.MEDIUM
    began = f"it began to dispatch {minutes} min ago, new, idle or resumed"
    return Finding(Cause.COLD, sure, f"{_pace(case.figures)}; {began}{_still_to_go(case)}")


def _coming_back(case: Case) -> Finding | None:
    """Tell of a warm queue that climbs again: after errors, or a stop too short to be seen."""
    if case.figures.failing or not cold.climbs(case.queue.minutes, case.bounds):
        return None
    failed = cold.failed_lately(case.queue, case.bounds)
    after = "errors of its target, which have ended" if failed else "a stop too short to be seen"
    why = f"{_pace(case.figures)}; it comes back from {after}{_still_to_go(case)}"
    return Finding(Cause.COLD, Confidence.HIGH if failed else Confidence.MEDIUM, why)


def _still_to_go(case: Case) -> str:
    if not cold.climbs(case.queue.minutes, case.bounds):
        return ""
    before, now = case.queue.minutes[-2].rate, case.queue.minutes[-1].rate
    left = cold.minutes_left(case.queue.minutes, case.figures)
    more = "" if left is None else f", and reaches {case.figures.possible:.3g}/s in {left:.0f} min"
    return f"; it climbs from {before:.3g} to {now:.3g}/s in a minute{more}"


def _pace(figures: Figures) -> str:
    return f"it dispatches {figures.rate:.3g}/s of {figures.limit:.4g}/s"


def _waiting(figures: Figures) -> str:
    behind = f"tasks leave {figures.late_s:,.0f} s late"
    return behind if figures.depth is None else f"{behind}, {figures.depth:,.0f} are in the queue"


def _answers(figures: Figures) -> str:
    whole = sum(figures.attempts.values())
    failed = {code: figures.attempts[code] for code in sorted(OVERLOAD & figures.attempts.keys())}
    listed = ", ".join(f"{number:,} {in_words(code)}" for code, number in failed.items())
    slows = "; 429 and 503 make the service slow the queue down" if figures.congested else ""
    return f"{100 * figures.failing:.2g} % of {whole:,} attempts failed: {listed}{slows}"


_RULES: tuple[Callable[[Case], Finding | None], ...] = (
    _paused,
    _starved,
    _cold,
    _congestion,
    _concurrency,
    _own_limit,
)
