"""When a record's task may run: at once, on the group's curve, or at the record's own time."""

import math
import re
from collections.abc import Callable

from injector.errors import Rejected
from injector.manifest.fields import instant
from injector.manifest.row import Row
from injector.manifest.schema import At, ByField
from injector.manifest.template import text_at
from injector.pacing.ramp import CHUNK, Ramp

HORIZON_S = 720 * 3600.0

Due = Callable[[Row, int], float | None]
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def due_of(when: str | At | ByField, position: dict[str, int], ramp: Ramp) -> Due:
    """Make the function that says when a record is due, in Unix seconds; None means at once."""
    match when:
        case At():
            begin = when.at.timestamp()
            return lambda _row, ordinal: begin + ramp.time_of(ordinal / CHUNK)
        case ByField():
            name, index = when.field, position[when.field]
            return lambda row, _ordinal: seconds_of(text_at(row, index, name), name)
        case _:
            return lambda _row, _ordinal: None


def seconds_of(text: str, name: str) -> float:
    """Return a time in Unix seconds; raise Rejected with the reason."""
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        return instant(text).timestamp()
    except ValueError as error:
        raise Rejected(f"{name}: {error}") from error


def settle(due: float | None, *, now: float) -> float | None:
    """Return the schedule time to ask for: None for one that has passed, which runs at once.

    Raises Rejected past the 720 hours that Cloud Tasks allows. The limit counts from the
    create, so a record may be early when it is staged and in time when it is sent.
    """
    if due is None or due <= now:
        return None
    if due <= now + HORIZON_S:
        return due
    hours = (due - now) / 3600 if math.isfinite(due) else due
    hint = "; it looks like milliseconds, give seconds" if _in_thousandths(due, now) else ""
    raise Rejected(f"is due in {hours:.1f} h, over the 720 h that Cloud Tasks allows{hint}")


def _in_thousandths(due: float, now: float) -> bool:
    """Tell whether it would be a time of these decades if it counted milliseconds."""
    return now / 2 <= due / 1000 <= now + HORIZON_S
