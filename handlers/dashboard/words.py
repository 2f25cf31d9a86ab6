"""Figures as a person reads them: the filters of the templates."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

UNKNOWN = "\N{EN DASH}"
_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def count(number: float) -> str:
    """Write a whole number in groups of three digits."""
    return f"{number:,.0f}"


def rate(per_s: float | None) -> str:
    """Write a rate per second, with a digit after the point where it is small."""
    if per_s is None:
        return UNKNOWN
    return f"{per_s:,.1f}/s" if 0 < per_s < 100 and per_s != round(per_s) else f"{per_s:,.0f}/s"


def span(seconds: float | None) -> str:
    """Write a span of time in its two largest units."""
    if seconds is None:
        return UNKNOWN
    left, parts = round(seconds), []
    for size, name in _UNITS:
        if number := left // size:
            parts.append(f"{number} {name}")
        left %= size
    return " ".join(parts[:2]) or "0 s"


def share(part: float, whole: float) -> str:
    """Write a share in percent; only the whole is 100, and only nothing 0."""
    if not part or not whole:
        return "0 %"
    percent = 100 * part / whole
    if part >= whole:
        return "100 %"
    return f"{min(99.9, max(0.1, percent)):.1f} %"


def instant(at: float | None) -> str:
    """Write a moment in UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M:%S} UTC" if at else UNKNOWN


def iso(at: float) -> str:
    """Write a moment for machines."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def short(queue: str) -> str:
    """Return a queue's own id."""
    return queue.rsplit("/", 1)[-1]


FILTERS: Mapping[str, Callable[..., str]] = {
    "count": count,
    "instant": instant,
    "iso": iso,
    "rate": rate,
    "share": share,
    "short": short,
    "span": span,
}
