"""Monitoring and logging, asked by their real clients."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from google.cloud import logging_v2, monitoring_v3
from google.cloud.logging_v2.services.logging_service_v2 import LoggingServiceV2Client
from google.cloud.logging_v2.services.logging_service_v2.transports import (
    LoggingServiceV2GrpcTransport,
)
from google.cloud.monitoring_v3.services.metric_service.transports import (
    MetricServiceGrpcTransport,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.emulator.records.series import Point, Spread
from injector.emulator.telemetry.aligning import Aligner, Reducer, align, percentile, raw, reduce
from tests.emulator.direct import Channel, refused

Aggregation = monitoring_v3.Aggregation
ATTEMPTS = 'metric.type = "cloudtasks.googleapis.com/queue/task_attempt_count"'
LOG = "projects/p/logs/cloudtasks.googleapis.com%2Ftask_operations_log"


@pytest.fixture
def metrics(direct) -> monitoring_v3.MetricServiceClient:
    transport = MetricServiceGrpcTransport(channel=Channel(direct.parts))
    return monitoring_v3.MetricServiceClient(transport=transport)


@pytest.fixture
def logs(direct) -> LoggingServiceV2Client:
    transport = LoggingServiceV2GrpcTransport(channel=Channel(direct.parts))
    return LoggingServiceV2Client(transport=transport)


def attempt_all(direct, statuses, queue="q", **settings: object) -> str:
    """Make a queue in which one task is attempted once for each status."""
    name = direct.queue(queue, retry_config={"max_backoff": {"seconds": 1}}, **settings)
    for status in statuses:
        direct.task(name)
        for started in direct.due():
            direct.end(started, status)
        direct.client.purge_queue(name=name)
    return name


def series(direct, metrics, text, seconds=600, **aggregation: object):
    start = datetime.fromtimestamp(direct.now - seconds, UTC)
    request = {
        "name": "projects/p",
        "filter": text,
        "interval": {"start_time": start, "end_time": datetime.fromtimestamp(direct.now, UTC)},
        "aggregation": aggregation,
    }
    return list(metrics.list_time_series(request=request))


def test_attempts_are_counted_by_queue_and_code(direct, metrics):
    attempt_all(direct, [200, 200, 429, 503, 500], queue="a")
    attempt_all(direct, [200], queue="b")
    found = series(direct, metrics, f'{ATTEMPTS} AND resource.labels.queue_id = "a"')
    counts = {one.metric.labels["response_code"]: one.points[0].value.int64_value for one in found}
    assert counts == {"OK": 2, "RESOURCE_EXHAUSTED": 1, "UNAVAILABLE": 1, "INTERNAL": 1}
    assert {one.resource.type for one in found} == {"cloud_tasks_queue"}
    assert {one.resource.labels["location"] for one in found} == {"us-central1"}


def test_points_are_one_a_minute_and_the_newest_comes_first(direct, metrics):
    attempt_all(direct, [200] * 3)
    direct.advance(60)
    attempt_all(direct, [200], queue="other")
    direct.task("projects/p/locations/us-central1/queues/q")
    direct.end(direct.due()[0])
    (found,) = series(direct, metrics, f'{ATTEMPTS} AND resource.labels.queue_id = "q"')
    assert [point.value.int64_value for point in found.points] == [1, 3]


def test_rates_are_summed_over_queues(direct, metrics):
    for queue in "ab":
        attempt_all(direct, [200] * 30, queue=queue)
    found = series(
        direct,
        metrics,
        f'{ATTEMPTS} AND metric.labels.response_code != "INTERNAL"',
        alignment_period={"seconds": 60},
        per_series_aligner=Aggregation.Aligner.ALIGN_RATE,
        cross_series_reducer=Aggregation.Reducer.REDUCE_SUM,
        group_by_fields=["metric.labels.response_code"],
    )
    (one,) = found
    assert dict(one.metric.labels) == {"response_code": "OK"}
    assert one.points[0].value.double_value == pytest.approx(1.0) or (
        one.points[0].value.int64_value == 1
    )


def test_depth_and_delays_are_measured(direct, metrics):
    queue = direct.queue(rate_limits={"max_dispatches_per_second": 1})
    for _ in range(3):
        direct.task(queue)
    direct.due()
    direct.advance(4)
    direct.due()
    registry = direct.parts.service.registry
    direct.parts.metrics.measure_depth(registry.queues[queue], now=direct.now)
    (depth,) = series(direct, metrics, 'metric.type = "cloudtasks.googleapis.com/queue/depth"')
    assert depth.points[0].value.int64_value == 3
    late = 'metric.type = "cloudtasks.googleapis.com/queue/task_attempt_delays"'
    (delays,) = series(direct, metrics, late)
    assert delays.points[0].value.distribution_value.count == 2
    assert delays.points[0].value.distribution_value.mean == pytest.approx(2000)
    (high,) = series(
        direct,
        metrics,
        late,
        alignment_period={"seconds": 60},
        per_series_aligner=Aggregation.Aligner.ALIGN_PERCENTILE_99,
    )
    assert 2048 <= high.points[0].value.double_value <= 4096


def test_calls_are_counted_by_method_and_code(direct, metrics):
    direct.queue()
    with refused("NOT_FOUND"):
        direct.client.get_queue(name="projects/p/locations/us-central1/queues/none")
    text = 'metric.type = "cloudtasks.googleapis.com/api/request_count"'
    found = {
        (one.metric.labels["api_method"].rpartition(".")[2], one.metric.labels["response_code"])
        for one in series(direct, metrics, text)
    }
    assert found == {("CreateQueue", "OK"), ("GetQueue", "NOT_FOUND")}


def test_other_projects_see_nothing(direct, metrics):
    attempt_all(direct, [200])
    request = {"name": "projects/other", "filter": ATTEMPTS, "interval": {}}
    assert list(metrics.list_time_series(request=request)) == []


@pytest.mark.parametrize("text", ["nope = 1", "metric.type"])
def test_broken_filter_of_series_is_refused(direct, metrics, text):
    with refused("INVALID_ARGUMENT", "Invalid filter"):
        series(direct, metrics, text)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 500), st.integers(0, 9)), unique_by=lambda p: p[0]),
    st.integers(1, 10),
)
def test_sums_over_spans_lose_nothing(points, minutes):
    readings = raw([Point(minute, number) for minute, number in sorted(points)], gauge=False)
    aligned = align(readings, Aligner.SUM, period_s=minutes * 60.0, end=600 * 60.0)
    assert sum(reading.value for reading in aligned) == sum(number for _, number in points)
    both = reduce([aligned, aligned], Reducer.SUM)
    assert [reading.value for reading in both] == [2 * reading.value for reading in aligned]


@settings(deadline=None)
@given(st.lists(st.floats(0.5, 1_000_000), min_size=1), st.floats(0.01, 1))
def test_percentile_lies_in_the_bucket_of_the_value_it_stands_for(values, share):
    spread = Spread()
    for value in values:
        spread.add(value)
    wanted = sorted(values)[max(0, -int(-share * len(values) // 1) - 1)]
    assert percentile(spread, share) <= max(1.0, 2 * wanted)
    assert spread.mean == pytest.approx(sum(values) / len(values))


def entries(logs, text="", order_by="", size=0):
    request = {
        "resource_names": ["projects/p"],
        "filter": text,
        "order_by": order_by,
        "page_size": size,
    }
    return list(logs.list_log_entries(request=request))


def test_queue_logs_nothing_unless_it_is_asked_to(direct, logs):
    attempt_all(direct, [200, 500])
    assert entries(logs) == []


def test_log_tells_a_tasks_story_in_productions_shape(direct, logs):
    attempt_all(direct, [503], stackdriver_logging_config={"sampling_ratio": 1.0})
    created, dispatched, responded = entries(logs, f'logName = "{LOG}"')
    payload = dict(responded.json_payload)
    log = dict(payload["attemptResponseLog"])
    assert "taskCreationLog" in dict(created.json_payload)
    assert "attemptDispatchLog" in dict(dispatched.json_payload)
    assert payload["@type"].endswith("google.cloud.tasks.logging.v1.TaskActivityLog")
    assert payload["task"].startswith("projects/p/locations/us-central1/queues/q/tasks/")
    assert (log["status"], log["dispatchCount"], log["targetType"]) == ("UNAVAILABLE", "1", "HTTP")
    assert log["targetAddress"] == "POST http://target.test/x"
    assert log["attemptDuration"].endswith("s")
    assert responded.severity == 500
    assert responded.resource.labels["queue_id"] == "q"


def test_log_is_filtered_ordered_and_paged(direct, logs):
    attempt_all(direct, [200, 503, 429], stackdriver_logging_config={"sampling_ratio": 1.0})
    failed = entries(logs, 'jsonPayload.attemptResponseLog.status = ("UNAVAILABLE" OR "OK")')
    assert len(failed) == 2
    assert len(entries(logs, "severity >= ERROR")) == 2
    assert entries(logs, "severity >= ERROR AND\n resource.labels.queue_id = other") == []
    all_of_them = entries(logs)
    assert [e.insert_id for e in entries(logs, size=2)] == [e.insert_id for e in all_of_them]
    newest = entries(logs, order_by="timestamp desc", size=4)
    assert [e.insert_id for e in newest] == [e.insert_id for e in reversed(all_of_them)]


def test_comparison_with_a_field_that_an_entry_lacks_fails(direct, logs):
    attempt_all(direct, [200, 503], stackdriver_logging_config={"sampling_ratio": 1.0})
    status = "jsonPayload.attemptResponseLog.status"
    throttled = entries(logs, f'resource.type="cloud_tasks_queue"\n{status}!="OK"')
    found = [dict(dict(e.json_payload)["attemptResponseLog"])["status"] for e in throttled]
    assert found == ["UNAVAILABLE"]
    assert entries(logs, f"{status} !~ OK") == throttled
    assert len(entries(logs, f'NOT {status}="OK"')) == len(entries(logs)) - 1


def test_sample_holds_whole_stories_of_about_its_share(direct, logs):
    attempt_all(direct, [200] * 200, stackdriver_logging_config={"sampling_ratio": 0.25})
    found = entries(logs)
    tasks = {dict(entry.json_payload)["task"] for entry in found}
    assert len(found) == 3 * len(tasks)
    assert 40 <= len(tasks) <= 60


def test_logging_and_monitoring_go_through_the_same_entry(direct):
    method = "/google.logging.v2.LoggingServiceV2/ListLogEntries"
    answer = direct.parts.handle(method, b"", {})
    answer = answer if isinstance(answer, bytes) else asyncio.run(answer)
    assert logging_v2.types.ListLogEntriesResponse.deserialize(answer).entries == []


@pytest.fixture(autouse=True)
def _closed(direct) -> Iterator[None]:
    yield
    direct.parts.metrics.clear()
