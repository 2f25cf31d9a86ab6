"""Queues minute by minute, as Cloud Monitoring or the emulator has measured them.

Needs the extra `monitoring`.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from google.cloud.monitoring_v3 import types

from injector.delivery.connection import Connection
from injector.queues.diagnosis.codes import grpc_name
from injector.queues.diagnosis.evidence import Calls, Minute
from injector.queues.time_series import (
    ATTEMPTS,
    CALLS,
    DELAYS_MS,
    DEPTH,
    LATEST,
    Steps,
    series_of,
    series_of_location,
)

LATEST_READING_S = 240
"""How late a reading may come in; the emulator's come at once."""

_KEPT_DEPTHS = 5
_CREATES = (".CreateTask", ".BatchCreateTasks")


@dataclass(slots=True)
class _Seen:
    """What was measured of a queue, by the ends of steps."""

    attempts: dict[float, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    left: Counter[float] = field(default_factory=Counter)
    late_s: Counter[float] = field(default_factory=Counter)
    depth: dict[float, float] = field(default_factory=dict)

    def latest(self) -> float:
        return max((*self.attempts, *self.left, *self.depth), default=0.0)


def minutes_of(
    connection: Connection, queues: Sequence[str], steps: Steps
) -> Mapping[str, tuple[Minute, ...]]:
    """Return each queue's steps, oldest first; steps that are not measured yet are left out."""
    seen = {queue.rpartition("/")[2]: _Seen() for queue in queues}
    _read_attempts(connection, queues, steps, seen)
    _read_delays(connection, queues, steps, seen)
    _read_depths(connection, queues, steps, seen)
    until = max(each.latest() for each in seen.values())
    ends = [end for end in steps.ends() if end <= max(until, steps.end - LATEST_READING_S)]
    return {queue: _rows(seen[queue.rpartition("/")[2]], ends) for queue in queues}


def creates_of(connection: Connection, queue: str, steps: Steps) -> tuple[Calls, ...]:
    """Return how calls that create ended in the queue's location, step by step."""
    ended: dict[float, Counter[str]] = defaultdict(Counter)
    for series in series_of_location(connection, CALLS, queue, steps):
        if series.metric.labels["api_method"].endswith(_CREATES):
            code = grpc_name(series.metric.labels["response_code"])
            for at, number in _numbers(series, steps):
                ended[at][code] += round(number)
    until = max(ended, default=0.0)
    return tuple(Calls(end, dict(ended[end])) for end in steps.ends() if end <= until)


def _read_attempts(
    connection: Connection, queues: Sequence[str], steps: Steps, seen: Mapping[str, _Seen]
) -> None:
    for series in series_of(connection, ATTEMPTS, queues, steps):
        code = grpc_name(series.metric.labels["response_code"])
        for at, number in _numbers(series, steps):
            seen[series.resource.labels["queue_id"]].attempts[at][code] += round(number)


def _read_delays(
    connection: Connection, queues: Sequence[str], steps: Steps, seen: Mapping[str, _Seen]
) -> None:
    for series in series_of(connection, DELAYS_MS, queues, steps):
        queue = seen[series.resource.labels["queue_id"]]
        for point in series.points:
            spread = point.value.distribution_value
            if (at := steps.of(point)) is not None:
                queue.left[at] += spread.count
                queue.late_s[at] += spread.count * spread.mean / 1000


def _read_depths(
    connection: Connection, queues: Sequence[str], steps: Steps, seen: Mapping[str, _Seen]
) -> None:
    for series in series_of(connection, DEPTH, queues, steps, LATEST):
        depth = seen[series.resource.labels["queue_id"]].depth
        for at, number in _numbers(series, steps):
            depth[at] = depth.get(at, 0.0) + number


def _numbers(series: types.TimeSeries, steps: Steps) -> Iterator[tuple[float, float]]:
    for point in series.points:
        if (at := steps.of(point)) is not None:
            yield at, float(getattr(point.value, point.value.WhichOneof("value")))


def _rows(seen: _Seen, ends: Sequence[float]) -> tuple[Minute, ...]:
    return tuple(
        Minute(
            end,
            dict(seen.attempts[end]) if end in seen.attempts else {},
            seen.left[end],
            seen.late_s[end] / seen.left[end] if seen.left[end] else None,
            _depth(seen, ends[max(0, index - _KEPT_DEPTHS) : index + 1]),
        )
        for index, end in enumerate(ends)
    )


def _depth(seen: _Seen, ends: Sequence[float]) -> float | None:
    """Return the latest depth known by the last of these ends."""
    return next((seen.depth[end] for end in reversed(ends) if end in seen.depth), None)
