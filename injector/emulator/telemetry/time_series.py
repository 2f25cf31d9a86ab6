"""Monitoring's ListTimeSeries, so that google-cloud-monitoring works against the emulator."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from google.cloud.monitoring_v3 import types

from injector.emulator.api import paths
from injector.emulator.api.methods import Method
from injector.emulator.api.refusals import invalid
from injector.emulator.api.service import Service
from injector.emulator.filtering.parser import compile_filter
from injector.emulator.filtering.values import Reader, at_path
from injector.emulator.records.metrics import Metrics
from injector.emulator.records.series import BOUNDS, Spread
from injector.emulator.telemetry.aligning import Aligner, Reading, Reducer, align, raw, reduce
from injector.emulator.timeline import LATEST_S

_SECOND = 1_000_000_000
_LONGEST_PERIOD_S = 104 * 7 * 86400
_VIEWS = frozenset(map(int, types.ListTimeSeriesRequest.TimeSeriesView))
_ALIGNERS = frozenset(map(int, types.Aggregation.Aligner))
_REDUCERS = frozenset(map(int, types.Aggregation.Reducer))
_PREFIX = "cloudtasks.googleapis.com/"
_RESOURCE = "cloud_tasks_queue"
_GAUGE, _DELTA = 1, 2
_INT64, _DOUBLE, _DISTRIBUTION = 2, 3, 5
Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Line:
    """One time series: what it measures of what, and its readings, oldest first."""

    metric: str
    metric_labels: Labels
    resource_labels: Labels
    gauge: bool
    readings: list[Reading]

    def tree(self) -> dict[str, object]:
        """Return what filters and groups look at."""
        return {
            "project": self.resource_labels.get("project_id", ""),
            "metric": {"type": self.metric, "labels": self.metric_labels},
            "resource": {"type": _RESOURCE, "labels": self.resource_labels},
        }


def methods(metrics: Metrics) -> dict[str, Method]:
    """Return the methods of the monitoring service that are answered."""
    name = "/google.monitoring.v3.MetricService/ListTimeSeries"
    return {name: Method(types.ListTimeSeriesRequest.pb(), partial(_answer, metrics))}


def _answer(metrics: Metrics, service: Service, request: types.ListTimeSeriesRequest) -> bytes:
    _check(request)
    response = list_time_series(metrics, service, types.ListTimeSeriesRequest.wrap(request))
    return bytes(types.ListTimeSeriesResponse.serialize(response))


def _check(request: types.ListTimeSeriesRequest) -> None:
    """Raise RpcError for what the wrapped message could not give: odd enums, times, spans."""
    how, interval = request.aggregation, request.interval
    if request.view not in _VIEWS:
        raise invalid("view is not a known view.")
    if how.per_series_aligner not in _ALIGNERS or how.cross_series_reducer not in _REDUCERS:
        raise invalid("aggregation has an unknown aligner or reducer.")
    for name, stamp in (("start", interval.start_time), ("end", interval.end_time)):
        if not (0 <= stamp.seconds <= LATEST_S and 0 <= stamp.nanos < _SECOND):
            raise invalid(f"interval.{name}_time is out of range.")
    period = how.alignment_period
    if not (0 <= period.seconds <= _LONGEST_PERIOD_S and 0 <= period.nanos < _SECOND):
        raise invalid("aggregation.alignment_period is out of range.")


def list_time_series(
    metrics: Metrics, service: Service, request: types.ListTimeSeriesRequest
) -> types.ListTimeSeriesResponse:
    """Return the series that pass the filter, aligned and reduced as asked, newest point first."""
    project = request.name.removeprefix("projects/")
    accepts = compile_filter(request.filter, _field)
    metrics.gather(now=service.now())
    now = datetime.fromtimestamp(service.now(), UTC)
    end = (request.interval.end_time or now).timestamp()
    start = request.interval.start_time.timestamp() if request.interval.start_time else end - 60
    lines = [
        line
        for line in _lines(metrics, start, end)
        if line.resource_labels["project_id"] in ("", project) and accepts(line.tree())
    ]
    with_points = request.view != types.ListTimeSeriesRequest.TimeSeriesView.HEADERS
    return types.ListTimeSeriesResponse(
        time_series=[
            _series(line, with_points=with_points)
            for line in _aggregated(lines, request.aggregation, end)
        ]
    )


def _lines(metrics: Metrics, start: float, end: float) -> Iterator[Line]:
    for series, name, label, gauge in (
        (metrics.attempts, "queue/task_attempt_count", "response_code", False),
        (metrics.delays_ms, "queue/task_attempt_delays", "", False),
        (metrics.depths, "queue/depth", "", True),
    ):
        for labels in series.labels():
            readings = raw(series.between(labels, start, end), gauge=gauge)
            metric_labels = {label: labels[1]} if label else {}
            yield Line(_PREFIX + name, metric_labels, _queue_labels(labels[0]), gauge, readings)
    yield from _call_lines(metrics, start, end)


def _call_lines(metrics: Metrics, start: float, end: float) -> Iterator[Line]:
    for labels in metrics.calls.labels():
        method, project, location, code = labels
        if not method.startswith("google.cloud.tasks."):
            continue
        metric_labels = {"api_method": method, "response_code": code}
        resource = {"project_id": project, "location": location, "queue_id": "", "target_type": ""}
        readings = raw(metrics.calls.between(labels, start, end), gauge=False)
        yield Line(f"{_PREFIX}api/request_count", metric_labels, resource, False, readings)  # noqa: FBT003


def _queue_labels(queue: str) -> Labels:
    where = paths.location(paths.location_of_queue(queue))
    return {
        "project_id": where.project,
        "location": where.location,
        "queue_id": queue.rpartition("/")[2],
        "target_type": "",
    }


def _aggregated(lines: list[Line], how: types.Aggregation, end: float) -> Iterator[Line]:
    try:
        aligner, reducer = Aligner(how.per_series_aligner), Reducer(how.cross_series_reducer)
    except ValueError as error:
        raise invalid(f"Unsupported aggregation: {error}.") from error
    period_s = how.alignment_period.total_seconds() if how.alignment_period else 0.0
    for line in lines:
        if aligner is not Aligner.NONE:
            line.readings[:] = align(line.readings, aligner, period_s=period_s, end=end)
    if reducer is Reducer.NONE:
        yield from (line for line in lines if line.readings)
        return
    yield from _reduced(lines, reducer, [str(name) for name in how.group_by_fields])


def _reduced(lines: list[Line], reducer: Reducer, names: list[str]) -> Iterator[Line]:
    groups: dict[tuple[object, ...], list[Line]] = {}
    readers = [_field(name) for name in names]
    for line in lines:
        if line.readings:
            key = (line.metric, *(str(read(line.tree())) for read in readers))
            groups.setdefault(key, []).append(line)
    for group in groups.values():
        first = group[0]
        readings = reduce([line.readings for line in group], reducer)
        metric = {k: v for k, v in first.metric_labels.items() if _keeps(names, "metric", k)}
        resource = {k: v for k, v in first.resource_labels.items() if _keeps(names, "resource", k)}
        yield Line(first.metric, metric, resource, first.gauge, readings)


def _keeps(names: list[str], kind: str, label: str) -> bool:
    wanted = (f"{kind}.labels.{label}", f"{kind}.label.{label}")
    return label == "project_id" or any(name in wanted for name in names)


def _field(name: str) -> Reader:
    path = tuple("labels" if part == "label" else part for part in name.split("."))
    if path[0] not in ("metric", "resource", "project"):
        raise invalid(f"Invalid filter: '{name}' is not a field of a time series.")
    return at_path(path)


def _series(line: Line, *, with_points: bool) -> types.TimeSeries:
    kind = _kind(line.readings)
    newest_first = reversed(line.readings) if with_points else ()
    return types.TimeSeries(
        metric={"type": line.metric, "labels": dict(line.metric_labels)},
        resource={"type": _RESOURCE, "labels": dict(line.resource_labels)},
        metric_kind=_GAUGE if line.gauge else _DELTA,
        value_type=kind,
        points=[_point(reading, kind) for reading in newest_first],
    )


def _point(reading: Reading, kind: int) -> types.Point:
    interval = types.TimeInterval(
        start_time=datetime.fromtimestamp(reading.start, UTC),
        end_time=datetime.fromtimestamp(reading.end, UTC),
    )
    return types.Point(interval=interval, value=_value(reading.value, kind))


def _kind(readings: list[Reading]) -> int:
    values = [reading.value for reading in readings]
    if any(isinstance(value, Spread) for value in values):
        return _DISTRIBUTION
    numbers = [value for value in values if isinstance(value, float)]
    return _INT64 if all(number.is_integer() for number in numbers) else _DOUBLE


def _value(value: float | Spread, kind: int) -> types.TypedValue:
    if not isinstance(value, Spread):
        whole = kind == _INT64
        return (
            types.TypedValue(int64_value=int(value))
            if whole
            else types.TypedValue(double_value=value)
        )
    spread = {
        "count": value.count,
        "mean": value.mean,
        "sum_of_squared_deviation": value.deviation,
        "bucket_options": {"explicit_buckets": {"bounds": BOUNDS}},
        "bucket_counts": value.buckets,
    }
    return types.TypedValue(distribution_value=spread)
