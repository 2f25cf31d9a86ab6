"""A group's last minutes as series for charts: pure, and no longer than their window."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from injector.ledger.ports import Minute, RampDecision
from injector.pacing.ramp import CHUNK
from injector.pacing.signals import Signals

MINUTE_S = 60.0
TELLING_S = 10.0
"""A minute that is younger than this says too little of its rate."""

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """Values by minute. Rates are per second, latencies in seconds, `at` in Unix seconds.

    `reached` counts the creates that the service answered, `faults` those that failed by code,
    `throttled` those that the throttle kept. `deferred` counts fan-outs that are sent again.
    What was not measured is None.
    """

    at: Sequence[float] = ()
    reached: Values = ()
    allowed: Values = ()
    p50_s: Values = ()
    p95_s: Values = ()
    throttled: Values = ()
    hedges_sent: Values = ()
    hedges_won: Values = ()
    deferred: Values = ()
    faults: Mapping[str, Values] = field(default_factory=dict)


def series(
    minutes: Sequence[Minute], decisions: Sequence[RampDecision], *, now: float, window: int
) -> Series:
    """Lay out the last `window` minutes, from the first in which there was anything to see.

    `decisions` come newest first, as the ledger gives them.
    """
    at = _slots(minutes, decisions, now=now, window=window)
    kept = {minute.at: Signals.from_counts(minute.counts) for minute in minutes}
    seen = [kept.get(start, Signals()) for start in at]
    spans = [min(MINUTE_S, now - start) for start in at]

    def rates(counts: Sequence[int]) -> Values:
        return [round(count / span, 3) for count, span in zip(counts, spans, strict=True)]

    codes = sorted({code for each in seen for code in each.faults})
    return Series(
        at=at,
        reached=rates([each.accepted for each in seen]),
        allowed=[_allowed(decisions, start + span) for start, span in zip(at, spans, strict=True)],
        p50_s=[each.latency.quantile_s(0.5) for each in seen],
        p95_s=[each.latency.quantile_s(0.95) for each in seen],
        throttled=rates([each.local_rejects for each in seen]),
        hedges_sent=rates([each.hedges_sent for each in seen]),
        hedges_won=rates([each.hedges_won for each in seen]),
        deferred=rates([each.deferred for each in seen]),
        faults={code: rates([each.faults.get(code, 0) for each in seen]) for code in codes},
    )


def _slots(
    minutes: Sequence[Minute], decisions: Sequence[RampDecision], *, now: float, window: int
) -> list[float]:
    """Return when each minute of the window starts; empty when nothing was seen in it."""
    last = (now - TELLING_S) // MINUTE_S * MINUTE_S
    earliest = last - (window - 1) * MINUTE_S
    events = [minute.at for minute in minutes] + [decision.at for decision in decisions]
    begun = [at // MINUTE_S * MINUTE_S for at in events if at >= earliest]
    first = min(begun, default=last + MINUTE_S)
    return [first + i * MINUTE_S for i in range(max(0, round((last - first) / MINUTE_S) + 1))]


def _allowed(decisions: Sequence[RampDecision], until: float) -> float | None:
    """Return the creates per second that the last decision by then allowed."""
    rates = (decision.rate * CHUNK for decision in decisions if decision.at <= until)
    return next(rates, None)
