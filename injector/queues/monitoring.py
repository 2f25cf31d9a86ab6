"""What Cloud Monitoring knows of queues; the emulator answers the same questions.

Its readings come by the minute and up to four minutes late, so they tell of a trend, and not of
the moment. Needs the extra `monitoring`.
"""

from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import takewhile
from math import ceil, inf

from google.cloud.monitoring_v3 import types

from injector.control.standing import Standing
from injector.delivery.cloud_tasks import routing
from injector.delivery.connection import Connection
from injector.delivery.line import CallFailed, Line
from injector.delivery.ports import OWN_CODES
from injector.delivery.verdict import OVERLOAD_FAULTS
from injector.errors import Misused, Retryable

SERVICE = "monitoring.googleapis.com"
LATE_OVER_S = 300.0
"""The span in which attempts are looked at for how late they leave."""

_LIST = "/google.monitoring.v3.MetricService/ListTimeSeries"
_CALL_TIMEOUT_S = 10.0
_MINUTE_S = 60
_ATTEMPTS = "queue/task_attempt_count"
_DELAYS_MS = "queue/task_attempt_delays"
_DELTA = types.Aggregation.Aligner(types.Aggregation.Aligner.ALIGN_DELTA)
_Request = types.ListTimeSeriesRequest.pb()
_Response = types.ListTimeSeriesResponse.pb()
_Ask = Callable[[Line], Coroutine[object, object, bytes]]


class Monitoring:
    """Asks how queues stand, in two calls a look; the connection is to the monitoring service."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def look(self, queues: Sequence[str], *, since: float, now: float) -> Standing:
        """Tell how the queues stood; they are all of one location."""
        names = {queue.rpartition("/")[2]: queue for queue in queues}
        codes: Counter[str] = Counter()
        attempts: Counter[str] = Counter()
        for series in self._series(_ATTEMPTS, queues, since, now):
            number = sum(point.value.int64_value for point in series.points)
            codes[series.metric.labels["response_code"]] += number
            attempts[names[series.resource.labels["queue_id"]]] += number
        left: Counter[str] = Counter()
        late_ms: Counter[str] = Counter()
        for series in self._series(_DELAYS_MS, queues, now - LATE_OVER_S, now):
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

    def _series(
        self, metric: str, queues: Sequence[str], start: float, end: float
    ) -> Iterator[types.TimeSeries]:
        """Yield the series of the queues, of all that have the beginning of their names."""
        if start >= end:
            return
        ids = {queue.rpartition("/")[2] for queue in queues}
        request = _request(metric, queues[0], _beginning(ids), start, end)
        while True:
            answer = _Response.FromString(self._connection.run(_asking(request)))
            for series in answer.time_series:
                if series.resource.labels["queue_id"] in ids:
                    yield series
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token


def _request(
    metric: str, queue: str, beginning: str, start: float, end: float
) -> types.ListTimeSeriesRequest:
    """Ask for one sum over the whole span for each series."""
    _, project, _, location = queue.split("/")[:4]
    request: types.ListTimeSeriesRequest = _Request(
        name=f"projects/{project}",
        filter=f'metric.type = "cloudtasks.googleapis.com/{metric}"'
        ' AND resource.type = "cloud_tasks_queue"'
        f' AND resource.labels.location = "{location}"'
        f' AND resource.labels.queue_id = starts_with("{beginning}")',
    )
    request.interval.start_time.FromNanoseconds(round(start * 1e9))
    request.interval.end_time.FromNanoseconds(round(end * 1e9))
    request.aggregation.alignment_period.seconds = ceil((end - start) / _MINUTE_S) * _MINUTE_S
    request.aggregation.per_series_aligner = _DELTA
    return request


def _beginning(names: Iterable[str]) -> str:
    """Return what all the names begin with."""
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _asking(request: types.ListTimeSeriesRequest) -> _Ask:
    serialized = request.SerializeToString()

    async def ask(line: Line) -> bytes:
        try:
            return await line.call(
                _LIST,
                serialized,
                about=routing("name", request.name),
                deadline=inf,
                most_s=_CALL_TIMEOUT_S,
            )
        except CallFailed as error:
            raise _verdict(error) from error

    return ask


def _verdict(error: CallFailed) -> Misused | Retryable:
    said = f"Cloud Monitoring cannot be asked: {error} ({error.code})"
    if error.code in OVERLOAD_FAULTS | OWN_CODES | {"INTERNAL", "UNKNOWN", "CANCELLED"}:
        return Retryable(said)
    return Misused(f"{said}; grant roles/monitoring.viewer, or set INJECTOR_MONITORING=off")
