"""Times and spans between protobuf's pairs of integers and seconds as floats."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from injector.emulator.api import messages
from injector.emulator.api.refusals import invalid

MICROSECONDS = 1_000_000


def write(into: messages.Timestamp, seconds: float) -> None:
    """Set a timestamp, to the microsecond."""
    whole, fraction = divmod(round(seconds * MICROSECONDS), MICROSECONDS)
    into.seconds = whole
    into.nanos = fraction * 1000


def read(stamp: messages.Timestamp, *, field: str) -> float:
    """Return a timestamp in Unix seconds, cut to the microsecond."""
    if not 0 <= stamp.nanos < 1_000_000_000:
        raise invalid(f"{field} has invalid nanos.")
    return stamp.seconds + (stamp.nanos // 1000) / MICROSECONDS


def span_s(duration: messages.Duration) -> float:
    """Return a duration in seconds."""
    return duration.seconds + duration.nanos / 1e9


def write_span(into: messages.Duration, seconds: float) -> None:
    """Set a duration, to the millisecond."""
    whole, fraction = divmod(round(seconds * 1000), 1000)
    into.seconds = whole
    into.nanos = fraction * 1_000_000


def in_pacific_time(seconds: float) -> str:
    """Return a time as production prints it in its messages."""
    try:
        return (_EPOCH + timedelta(seconds=int(seconds))).astimezone(_pacific()).isoformat()
    except OverflowError:
        return f"{seconds:.0f}"


def _pacific() -> tzinfo:
    try:
        return ZoneInfo("America/Los_Angeles")
    except ZoneInfoNotFoundError:  # a slim image has no time zones
        return UTC


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
