"""Whether a location is sent more tasks than it can take in."""

from collections import Counter
from collections.abc import Sequence

from injector.pacing.ramp import SAFE_GROWTH, SAFE_RATE
from injector.queues.diagnosis.codes import REFUSED_CREATES, in_words
from injector.queues.diagnosis.evidence import MINUTE_S, Calls
from injector.queues.diagnosis.figures import Bounds
from injector.queues.diagnosis.verdict import Cause, Confidence, Finding


def overload(creates: Sequence[Calls], bounds: Bounds) -> Finding | None:
    """Tell whether creates are refused for overload; surer if they also grew too fast."""
    ended = _latest(creates, bounds)
    refused = sum(ended[code] for code in REFUSED_CREATES)
    share = refused / ended.total() if ended else 0.0
    if refused < 3 or ended.total() < bounds.least or share < bounds.refused:
        return None
    listed = ", ".join(
        f"{ended[code]:,} {in_words(code)}" for code in sorted(REFUSED_CREATES) if ended[code]
    )
    growth = _growth(creates)
    sure = Confidence.HIGH if growth or share >= bounds.failing else Confidence.MEDIUM
    why = f"{100 * share:.2g} % of {ended.total():,} creates in the location failed: {listed}"
    return Finding(Cause.CREATES, sure, why + growth)


def rate_of(calls: Calls) -> float:
    """Return how many creates a second ended in a minute."""
    return sum(calls.ended.values()) / MINUTE_S


def _latest(creates: Sequence[Calls], bounds: Bounds) -> Counter[str]:
    """Count the creates of two minutes, or of up to five where they are few."""
    found: Counter[str] = Counter()
    for back, calls in enumerate(reversed(creates[-5:])):
        if back >= 2 and found.total() >= bounds.least:
            break
        found.update(calls.ended)
    return found


def _growth(creates: Sequence[Calls]) -> str:
    """Say by how much the creates outgrew 500/50/5; empty if they did not."""
    now = max((rate_of(calls) for calls in creates[-2:]), default=0.0)
    before = max((rate_of(calls) for calls in creates[-12:-5]), default=0.0)
    allowed = max(SAFE_RATE, SAFE_GROWTH * before)
    if now <= allowed:
        return ""
    return (
        f"; they went from {before:,.0f} to {now:,.0f}/s within 5 minutes, where 500/50/5 allows "
        f"{allowed:,.0f}/s"
    )
