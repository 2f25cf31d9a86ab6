"""What Cloud Monitoring knows of queues; the emulator answers the same questions.

Its readings come by the minute and up to four minutes late, so they tell of a trend, and not of
the moment. Needs the extra `monitoring`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from google.cloud.monitoring_v3 import types

from injector.control.standing import Standing
from injector.delivery.connection import Connection
from injector.errors import Misused
from injector.queues.time_series import (
    ATTEMPTS,
    DELAYS_MS,
    DEPTH,
    LATEST,
    MINUTE_S,
    SERVICE,
    Steps,
    series_of,
)

__all__ = ["LATE_OVER_S", "SERVICE", "Monitoring"]

LATE_OVER_S = 300.0
"""The span in which attempts are looked at for how late they leave."""

READINGS = 6
"""How many minutes back a depth is looked for, since readings come late."""


class Monitoring:
    """Asks how queues stand, in two calls a look; the connection is to the monitoring service."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def look(self, queues: Sequence[str], *, since: float, now: float) -> Standing:
        """Tell how the queues stood; they are all of one location."""
        try:
            return self._look(queues, since, now)
        except Misused as error:
            raise Misused(f"{error}, or set INJECTOR_MONITORING=off") from error

    def depths(self, queues: Sequence[str], *, now: float) -> Mapping[str, int]:
        """Tell how many tasks wait in each queue, at the latest reading of some minutes."""
        names = {queue.rpartition("/")[2]: queue for queue in queues}
        steps = Steps.back_from(now, count=READINGS)
        latest: dict[str, tuple[float, int]] = {}
        for series in series_of(self._connection, DEPTH, queues, steps, LATEST):
            queue = names[series.resource.labels["queue_id"]]
            for point in series.points:
                read = point.interval.end_time.ToNanoseconds(), point.value.int64_value
                latest[queue] = max(latest.get(queue, read), read)
        return {queue: depth for queue, (_, depth) in latest.items()}

    def _look(self, queues: Sequence[str], since: float, now: float) -> Standing:
        names = {queue.rpartition("/")[2]: queue for queue in queues}
        codes: Counter[str] = Counter()
        attempts: Counter[str] = Counter()
        for series in self._whole(ATTEMPTS, queues, since, now):
            number = sum(point.value.int64_value for point in series.points)
            codes[series.metric.labels["response_code"]] += number
            attempts[names[series.resource.labels["queue_id"]]] += number
        left: Counter[str] = Counter()
        late_ms: Counter[str] = Counter()
        for series in self._whole(DELAYS_MS, queues, now - LATE_OVER_S, now):
            queue = names[series.resource.labels["queue_id"]]
            for found in (point.value.distribution_value for point in series.points):
                left[queue] += found.count
                late_ms[queue] += found.count * found.mean
        return Standing(
            dict(+codes),
            late_ms.total() / 1000 / left.total() if left.total() else None,
            dict(+attempts),
            {queue: late_ms[queue] / 1000 / left[queue] for queue in +left},
        )

    def _whole(
        self, metric: str, queues: Sequence[str], start: float, end: float
    ) -> Iterator[types.TimeSeries]:
        """Yield one sum over the whole span for each series."""
        if start < end:
            step_s = ceil((end - start) / MINUTE_S) * MINUTE_S
            yield from series_of(self._connection, metric, queues, Steps(start, end, step_s))
