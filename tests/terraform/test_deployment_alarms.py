"""Dashboard and alerts, against the metrics that there are."""

import json
import re

import pytest

from handlers.logs import JsonLines, log
from injector.emulator.filtering.parser import compile_filter
from injector.emulator.filtering.values import at_path

# From Google Cloud's list of metrics; the label names are those of their descriptors.
METRICS = {
    "cloudsql.googleapis.com/database/cpu/utilization": set(),
    "cloudsql.googleapis.com/database/postgresql/num_backends": {"database"},
    "cloudtasks.googleapis.com/api/request_count": {"api_method", "response_code"},
    "cloudtasks.googleapis.com/queue/depth": set(),
    "cloudtasks.googleapis.com/queue/task_attempt_count": {"response_code"},
    "cloudtasks.googleapis.com/queue/task_attempt_delays": set(),
    "pubsub.googleapis.com/topic/send_request_latencies": {"has_ordering", "schema_type"},
    "run.googleapis.com/container/instance_count": {"state"},
    "run.googleapis.com/request_count": {"response_code", "response_code_class"},
    "run.googleapis.com/request_latencies": {"response_code", "response_code_class"},
    "serviceruntime.googleapis.com/api/request_latencies": set(),
}
RESOURCES = {
    "cloud_run_revision": {"service_name"},
    "cloud_tasks_queue": {"location", "queue_id"},
    "cloudsql_database": {"database_id"},
    "consumed_api": {"method", "service"},
    "pubsub_topic": {"topic_id"},
}
SIGNALS = {
    "attempt_delays": "cloudtasks.googleapis.com/queue/task_attempt_delays",
    "attempt_errors": "cloudtasks.googleapis.com/queue/task_attempt_count",
    "backlog": "cloudtasks.googleapis.com/queue/depth",
    "create_errors": "cloudtasks.googleapis.com/api/request_count",
    "create_latency": "serviceruntime.googleapis.com/api/request_latencies",
}
FIELD = re.compile(r"(metric|resource)\.labels\.(\w+)")


def at(name):
    """Return what reads a field of an item by its dotted name."""
    return at_path(tuple(name.split(".")))


def type_in(filter_text, of):
    (found,) = re.findall(rf'{of}\.type = "([^"]+)"', filter_text)
    return found


def conditions(deployment):
    """Return the threshold conditions by the name of their alert."""
    policies = deployment.all("google_monitoring_alert_policy")
    return {
        re.search(r'signal\["(\w+)"\]', address)[1]: policy["conditions"][0]["condition_threshold"][
            0
        ]
        for address, policy in policies.items()
        if "signal" in address
    }


def tiles(deployment):
    dashboard = deployment.one("google_monitoring_dashboard")["dashboard_json"]
    return json.loads(dashboard)["mosaicLayout"]


def charts(deployment):
    return [
        queried["timeSeriesQuery"]["timeSeriesFilter"]
        for tile in tiles(deployment)["tiles"]
        for queried in tile["widget"]["xyChart"]["dataSets"]
    ]


def filters(deployment):
    thresholds = conditions(deployment).values()
    return [
        *(condition["filter"] for condition in thresholds),
        *(c["denominator_filter"] for c in thresholds if c["denominator_filter"]),
        *(chart["filter"] for chart in charts(deployment)),
    ]


def test_every_filter_is_one_and_asks_for_what_there_is(deployment):
    for text in filters(deployment):
        compile_filter(text, at)
        labels = FIELD.findall(text)
        assert {name for of, name in labels if of == "metric"} <= METRICS[type_in(text, "metric")]
        assert {name for of, name in labels if of == "resource"} <= (
            RESOURCES[type_in(text, "resource")]
        )


def test_there_is_an_alert_for_every_signal_of_overload(deployment):
    found = {name: type_in(c["filter"], "metric") for name, c in conditions(deployment).items()}
    assert found == SIGNALS


@pytest.mark.parametrize("code", ["UNAVAILABLE", "unavailable", "RESOURCE_EXHAUSTED", "INTERNAL"])
@pytest.mark.parametrize("alert", ["create_errors", "attempt_errors"])
def test_overload_is_alarming(minimal, alert, code):
    assert accepts(conditions(minimal)[alert], code)


@pytest.mark.parametrize("code", ["OK", "ok", "ALREADY_EXISTS", "INVALID_ARGUMENT", "NOT_FOUND"])
@pytest.mark.parametrize("alert", ["create_errors", "attempt_errors"])
def test_an_answer_is_not(minimal, alert, code):
    assert not accepts(conditions(minimal)[alert], code)


def accepts(condition, code, queue="welcome-0007"):
    """Tell whether a point of the metric counts for the alert."""
    item = {
        "metric": {
            "type": type_in(condition["filter"], "metric"),
            "labels": {"response_code": code, "api_method": "CreateTask"},
        },
        "resource": {
            "type": "cloud_tasks_queue",
            "labels": {"location": "europe-west1", "queue_id": queue},
        },
    }
    return compile_filter(condition["filter"], at)(item)


@pytest.mark.parametrize(
    ("queue", "ours"),
    [
        ("welcome-0007", True),
        ("welcome-injector-0", True),
        ("welcome-back-0007", False),
        ("unwelcome-0007", False),
    ],
)
def test_only_the_groups_own_queues_count(minimal, queue, ours):
    assert accepts(conditions(minimal)["attempt_errors"], "INTERNAL", queue) is ours


def test_shares_are_of_all_that_was_tried(deployment):
    for name in ("create_errors", "attempt_errors"):
        condition = conditions(deployment)[name]
        assert condition["filter"].startswith(condition["denominator_filter"])
        assert condition["threshold_value"] == 0.05
        assert condition["denominator_aggregations"] == condition["aggregations"]


def test_thresholds_and_channels_are_the_deployment_s(complete):
    thresholds = {name: c["threshold_value"] for name, c in conditions(complete).items()}
    assert (thresholds["backlog"], thresholds["create_latency"]) == (5000000, 0.5)
    for policy in complete.all("google_monitoring_alert_policy").values():
        assert policy["notification_channels"] == [
            "projects/my-project/notificationChannels/1234567890"
        ]


def test_what_the_service_logs_as_a_fault_is_alerted_of(minimal):
    policies = minimal.all("google_monitoring_alert_policy")
    (condition,) = policies["google_monitoring_alert_policy.fault"]["conditions"]
    text = condition["condition_matched_log"][0]["filter"]
    record = log.makeRecord(log.name, 40, "file", 1, "went wrong", (), None)
    line = json.loads(JsonLines().format(record))
    entry = {
        "resource": {"type": "cloud_run_revision", "labels": {"service_name": "injector"}},
        "jsonPayload": line,
        "severity": line["severity"],
    }
    assert compile_filter(text, at)(entry)
    assert not compile_filter(text, at)(entry | {"severity": "DEBUG"})


def test_tiles_lie_side_by_side(deployment):
    layout = tiles(deployment)
    covered = [
        (x, y)
        for tile in layout["tiles"]
        for x in range(tile["xPos"], tile["xPos"] + tile["width"])
        for y in range(tile["yPos"], tile["yPos"] + tile["height"])
    ]
    assert len(covered) == len(set(covered))
    assert max(x for x, _ in covered) < layout["columns"]


def test_what_is_charted_is_also_grouped_by_what_there_is(deployment):
    for chart in charts(deployment):
        for field in chart["aggregation"]["groupByFields"]:
            of, _, name = field.split(".")
            known = METRICS if of == "metric" else RESOURCES
            assert name in known[type_in(chart["filter"], of)]
