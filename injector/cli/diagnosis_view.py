"""A diagnosis as it is shown: for a person, as JSON, and as curves."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from injector.cli.charts import Curve
from injector.cli.client import Json
from injector.cli.output import moment, print_pairs, rate, say, span
from injector.queues.diagnosis import Diagnosis, Evidence, Figures, History, Peak, Verdict
from injector.queues.diagnosis.codes import http_status, in_words
from injector.queues.diagnosis.evidence import MINUTE_S
from injector.queues.diagnosis.history import HIGH_TPS_GROUP, HIGH_TPS_QUEUE

TITLE = "dispatches/s"
COLOURS = {"high": "red", "medium": "yellow"}
SHOWN = 5


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of some queues at an instant in Unix seconds, and what it means."""

    diagnosis: Diagnosis
    evidence: Evidence
    history: History
    at: float


def show(seen: Seen) -> None:
    """Show the verdicts with their numbers, or that nothing is wrong."""
    found = seen.diagnosis
    for verdict in found.verdicts:
        held = f" ({_named(verdict.queues)})" if verdict.queues else ""
        cause, colour = f"{verdict.cause}{held}", COLOURS[verdict.confidence]
        say(f", {verdict.confidence} confidence", head=cause, style=colour)
        say(f"  {verdict.why}", wraps=False)
        say(f"  → {verdict.advice}\n", wraps=False)
    if not found.verdicts:
        say("nothing holds the queues back\n", style="green")
    print_pairs(dict(_figures(seen)))
    for note in found.notes:
        say(f"note: {note}", wraps=False)
    for missing in found.unseen:
        say(f"not seen: {missing}", style="yellow", wraps=False)


def in_json(seen: Seen) -> Json:
    """Return all of it for a program."""
    found = seen.diagnosis
    return {
        "at": seen.at,
        "healthy": not found.verdicts,
        "queues": [queue.name for queue in seen.evidence.queues],
        "verdicts": [_verdict(verdict) for verdict in found.verdicts],
        "figures": _numbers(found.figures),
        "history": _history(seen.history),
        "notes": list(found.notes),
        "unseen": list(found.unseen),
    }


def curves_of(evidence: Evidence) -> tuple[Curve, ...]:
    """Return what all queues together dispatched in the last hour, and their limits."""
    rates: dict[float, float] = defaultdict(float)
    for queue in evidence.queues:
        for minute in queue.minutes:
            rates[minute.at] += minute.rate
    if not rates:
        return (Curve("dispatched", [(0.0, 0.0)]),)
    since, until = min(rates) - MINUTE_S, max(rates) - min(rates) + MINUTE_S
    curves = [Curve("dispatched", [(at - since, rate) for at, rate in sorted(rates.items())])]
    for name, limit in _limits(evidence):
        curves.append(Curve(name, [(0.0, limit), (until, limit)]))
    return tuple(curves)


def _limits(evidence: Evidence) -> Iterator[tuple[str, float]]:
    queues = evidence.queues
    yield "max_dispatches_per_second", sum(queue.rate for queue in queues)
    capacities = [
        queue.concurrency / queue.latency.mean_s
        for queue in queues
        if queue.latency and queue.latency.mean_s
    ]
    limit = sum(capacities)
    if len(capacities) == len(queues) and limit <= 4 * sum(queue.rate for queue in queues):
        yield "concurrency / latency", limit


def _figures(seen: Seen) -> Iterator[tuple[str, str]]:
    figures = seen.diagnosis.figures
    yield "dispatched", f"{_three(figures.rate)}/s of {_three(figures.limit)}/s allowed"
    yield "attempts", _answers(figures)
    yield "tasks", "-" if figures.depth is None else f"{figures.depth:,.0f}{_change(figures)}"
    yield "late", span(figures.late_s)
    if figures.latency_s is not None:
        yield "latency", f"{span(figures.latency_s)} on average, {_samples(seen.evidence)}"
        under_way = f"{figures.in_flight:,.1f} of {figures.concurrency:,} at once"
        yield "under way", f"{under_way}, by rate and latency"
        yield "possible", f"{_three(figures.possible)}/s, {_least(figures)}"
    yield "peak", _peaks(seen.history)


def _least(figures: Figures) -> str:
    return (
        f"the lesser of {_three(figures.limit)}/s and {figures.concurrency:,} at once / "
        f"{figures.latency_s:.3g} s"
    )


def _answers(figures: Figures) -> str:
    counts = sorted(figures.attempts.items(), key=lambda each: -each[1])
    return ", ".join(f"{number:,} {in_words(code)}" for code, number in counts) or "none"


def _change(figures: Figures) -> str:
    change = figures.depth_change
    more = "more" if change and change > 0 else "fewer"
    return f" ({abs(change):,.0f} {more} than minutes before)" if change else ""


def _samples(evidence: Evidence) -> str:
    found = [queue.latency for queue in evidence.queues if queue.latency]
    most = max(found, key=lambda latency: latency.p95_s)
    return f"p95 {span(most.p95_s)}, by {most.samples:,} logged attempts"


def _peaks(history: History) -> str:
    queues = (
        f"; high-TPS queues (>= {HIGH_TPS_QUEUE:g}/s): {_named(history.high_queues)}"
        if history.high_queues
        else ""
    )
    group = f"; a high-TPS group (>= {HIGH_TPS_GROUP:,.0f}/s)" if history.is_high_tps_group else ""
    return (
        f"{_peak(history.dispatched)} dispatched, {_peak(history.created)} created{group}{queues}"
    )


def _peak(peak: Peak) -> str:
    return f"{_three(peak.rate)}/s at {moment(peak.at)}" if peak.at else "none"


def _named(queues: tuple[str, ...]) -> str:
    names = [queue.rpartition("/")[2] for queue in queues]
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _verdict(verdict: Verdict) -> Json:
    return {
        "cause": verdict.cause,
        "confidence": verdict.confidence,
        "why": verdict.why,
        "advice": verdict.advice,
        "queues": list(verdict.queues),
        "figures": _numbers(verdict.figures),
    }


def _numbers(figures: Figures) -> Json:
    return {
        "rate": figures.rate,
        "limit": figures.limit,
        "concurrency": figures.concurrency,
        "possible": figures.possible,
        "in_flight": figures.in_flight,
        "latency_s": figures.latency_s,
        "late_s": figures.late_s,
        "depth": figures.depth,
        "depth_change": figures.depth_change,
        "attempts": [
            {"code": code, "http_status": http_status(code), "count": count}
            for code, count in sorted(figures.attempts.items())
        ],
    }


def _history(history: History) -> Json:
    return {
        "step_s": history.step_s,
        "dispatched_peak": {"rate": history.dispatched.rate, "at": history.dispatched.at},
        "created_peak": {"rate": history.created.rate, "at": history.created.at},
        "high_tps_group": history.is_high_tps_group,
        "high_tps_queues": list(history.high_queues),
        "queue_peaks": {queue: peak.rate for queue, peak in history.queue_peaks.items()},
    }


def _three(number: float) -> str:
    return rate(float(f"{number:.3g}"))
