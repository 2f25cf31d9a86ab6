"""Time series of queues, asked of Cloud Monitoring; the emulator answers the same questions.

Needs the extra `monitoring`.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from google.cloud.monitoring_v3 import types

from injector.delivery.connection import Connection
from injector.queues.asking import answer_to

SERVICE = "monitoring.googleapis.com"
MINUTE_S = 60
ATTEMPTS = "queue/task_attempt_count"
DELAYS_MS = "queue/task_attempt_delays"
DEPTH = "queue/depth"
CALLS = "api/request_count"
DELTA = types.Aggregation.Aligner(types.Aggregation.Aligner.ALIGN_DELTA)
LATEST = types.Aggregation.Aligner(types.Aggregation.Aligner.ALIGN_NEXT_OLDER)

_LIST = "/google.monitoring.v3.MetricService/ListTimeSeries"
_REMEDY = "grant roles/monitoring.viewer"
_Request = types.ListTimeSeriesRequest.pb()
_Response = types.ListTimeSeriesResponse.pb()


def series_of(
    connection: Connection,
    metric: str,
    queues: Sequence[str],
    span: tuple[float, float],
    *,
    step_s: int,
    aligner: int = DELTA,
) -> Iterator[types.TimeSeries]:
    """Yield the series of the queues, of all that have the beginning of their names.

    The queues are of one location, the span is in Unix seconds, and each point stands for
    `step_s` of it.
    """
    ids = {queue.rpartition("/")[2] for queue in queues}
    of_them = f' AND resource.labels.queue_id = starts_with("{_beginning(ids)}")'
    request = _request(metric, queues[0], of_them, span, step_s, aligner)
    for series in _pages(connection, request):
        if series.resource.labels["queue_id"] in ids:
            yield series


def series_of_location(
    connection: Connection, metric: str, queue: str, span: tuple[float, float], *, step_s: int
) -> Iterator[types.TimeSeries]:
    """Yield the series of all that is in the queue's location."""
    yield from _pages(connection, _request(metric, queue, "", span, step_s, DELTA))


def _pages(
    connection: Connection, request: types.ListTimeSeriesRequest
) -> Iterator[types.TimeSeries]:
    if request.interval.start_time.ToNanoseconds() >= request.interval.end_time.ToNanoseconds():
        return
    about = "name", request.name
    while True:
        said = answer_to(connection, _LIST, request, about, whom="Cloud Monitoring", mend=_REMEDY)
        answer = _Response.FromString(said)
        yield from answer.time_series
        if not answer.next_page_token:
            return
        request.page_token = answer.next_page_token


def _request(
    metric: str, queue: str, more: str, span: tuple[float, float], step_s: int, aligner: int
) -> types.ListTimeSeriesRequest:
    _, project, _, location = queue.split("/")[:4]
    request: types.ListTimeSeriesRequest = _Request(
        name=f"projects/{project}",
        filter=f'metric.type = "cloudtasks.googleapis.com/{metric}"'
        ' AND resource.type = "cloud_tasks_queue"'
        f' AND resource.labels.location = "{location}"{more}',
    )
    request.interval.start_time.FromNanoseconds(round(span[0] * 1e9))
    request.interval.end_time.FromNanoseconds(round(span[1] * 1e9))
    request.aggregation.alignment_period.seconds = step_s
    request.aggregation.per_series_aligner = aligner
    return request


def _beginning(names: Iterable[str]) -> str:
    """Return what all the names begin with."""
    first, last = min(names), max(names)
    pairs = zip(first, last, strict=False)
    return "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
