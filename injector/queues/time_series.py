"""Time series of queues, asked of Cloud Monitoring; the emulator answers the same questions.

Needs the extra `monitoring`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from google.cloud.monitoring_v3 import types

from injector.delivery.connection import Connection
from injector.queues.asking import Method, answer_to, beginning

SERVICE = "monitoring.googleapis.com"
MINUTE_S = 60
ATTEMPTS = "queue/task_attempt_count"
DELAYS_MS = "queue/task_attempt_delays"
DEPTH = "queue/depth"
CALLS = "api/request_count"
DELTA = types.Aggregation.Aligner(types.Aggregation.Aligner.ALIGN_DELTA)
LATEST = types.Aggregation.Aligner(types.Aggregation.Aligner.ALIGN_NEXT_OLDER)

_LIST = Method(
    "/google.monitoring.v3.MetricService/ListTimeSeries",
    "Cloud Monitoring",
    "grant roles/monitoring.viewer",
)
_Request = types.ListTimeSeriesRequest.pb()
_Response = types.ListTimeSeriesResponse.pb()


@dataclass(frozen=True, slots=True)
class Steps:
    """A span in Unix seconds, and for how many seconds of it each point stands."""

    start: float
    end: float
    step_s: int = MINUTE_S

    @classmethod
    def back_from(cls, now: float, *, count: int, step_s: int = MINUTE_S) -> "Steps":
        """Return so many steps up to the last whole minute."""
        end = now // MINUTE_S * MINUTE_S
        return cls(end - count * step_s, end, step_s)

    def ends(self) -> list[float]:
        """Return when each step ends."""
        count = round((self.end - self.start) / self.step_s)
        return [self.end - back * self.step_s for back in reversed(range(count))]

    def of(self, point: types.Point) -> float | None:
        """Return the end of the step that a point is of; None if it is of none."""
        ended = point.interval.end_time.ToNanoseconds() / 1e9
        end = self.end - round((self.end - ended) / self.step_s) * self.step_s
        return end if self.start < end <= self.end else None


def series_of(
    connection: Connection,
    metric: str,
    queues: Sequence[str],
    steps: Steps,
    aligner: types.Aggregation.Aligner = DELTA,
) -> Iterator[types.TimeSeries]:
    """Yield the series of the queues, of all that have the beginning of their names.

    The queues are of one location.
    """
    ids = {queue.rpartition("/")[2] for queue in queues}
    about = f' AND resource.labels.queue_id = starts_with("{beginning(ids)}")'
    request = _request(metric, _in_location(queues[0]) + about, steps, aligner)
    request.name = _project(queues[0])
    for series in _pages(connection, request):
        if series.resource.labels["queue_id"] in ids:
            yield series


def series_of_location(
    connection: Connection, metric: str, queue: str, steps: Steps
) -> Iterator[types.TimeSeries]:
    """Yield the series of all that is in the queue's location."""
    request = _request(metric, _in_location(queue), steps, DELTA)
    request.name = _project(queue)
    yield from _pages(connection, request)


def _pages(
    connection: Connection, request: types.ListTimeSeriesRequest
) -> Iterator[types.TimeSeries]:
    about = "name", request.name
    while True:
        said = answer_to(connection, _LIST, request, about)
        answer = _Response.FromString(said)
        yield from answer.time_series
        if not answer.next_page_token:
            return
        request.page_token = answer.next_page_token


def _request(
    metric: str, about: str, steps: Steps, aligner: types.Aggregation.Aligner
) -> types.ListTimeSeriesRequest:
    request: types.ListTimeSeriesRequest = _Request(
        filter=f'metric.type = "cloudtasks.googleapis.com/{metric}"'
        f' AND resource.type = "cloud_tasks_queue"{about}'
    )
    request.interval.start_time.FromNanoseconds(round(steps.start * 1e9))
    request.interval.end_time.FromNanoseconds(round(steps.end * 1e9))
    request.aggregation.alignment_period.seconds = steps.step_s
    request.aggregation.per_series_aligner = aligner
    return request


def _project(queue: str) -> str:
    return "/".join(queue.split("/")[:2])


def _in_location(queue: str) -> str:
    return f' AND resource.labels.location = "{queue.split("/")[3]}"'
