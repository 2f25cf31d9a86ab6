"""A plan of a job that was looked through: what the API's quota and the group let it reach."""

import pytest

from injector.cli.findings import Findings
from injector.cli.planning import make_plan, plan_json
from injector.groups import Group, Retry, expand
from injector.manifest import load_manifest
from injector.pacing.ramp import Ramp

PARENT = "projects/p/locations/l/queues/"
TASKS = """
job: j
group: g
records: users.jsonl
task: {http: {url: "https://t.example/"}}
"""
MESSAGES = TASKS.replace('task: {http: {url: "https://t.example/"}}', "message: {data: record}")


def planned(
    records, *, injector_queues=2, max_rate=1000.0, text=TASKS, latency_s=None, **limits: object
):
    queues = expand(f"{PARENT}q-[000-299]") if text is TASKS else ()
    topic = None if text is TASKS else "projects/p/topics/t"
    injectors = expand(f"{PARENT}i-[0-{injector_queues - 1}]")
    group = Group("g", injectors, queues, topic, Ramp(max_rate=max_rate), **limits)
    findings = Findings(records, 0, (), (), 500.0)
    return make_plan(load_manifest(text), group, findings, latency_s=latency_s)


def test_a_thousand_million_tasks_end_at_the_apis_quota_and_it_is_said():
    plan = planned(10**9, injector_queues=4, max_rate=2000.0)
    assert plan.estimate.seconds / 60 == pytest.approx(222.1, abs=0.05)
    (quota,) = plan.warnings
    assert "202,000 requests/s are over the API's quota of 100,000/s" in quota
    assert plan_json(plan)["peak_quota_share"] == 1.01


def test_a_job_far_below_the_quota_is_told_its_share():
    plan = planned(100_000)
    assert plan_json(plan)["peak_quota_share"] == 0.005
    assert plan.warnings == ()


def test_a_job_that_outgrows_its_injector_queues_is_told_so():
    (too_few,) = planned(10**9, injector_queues=1, max_rate=900.0).warnings
    assert "needs 2 injector queues at 500/s each; the group has 1" in too_few


def test_a_job_that_ends_before_it_outgrows_them_is_not():
    assert planned(1_000_000, injector_queues=1, max_rate=900.0).warnings == ()


def test_limits_that_the_groups_file_sets_are_reckoned_with():
    concurrency, rate = (
        planned(10_000_000, latency_s=2.0, concurrency=10),
        planned(10_000_000, latency_s=2.0, rate=1.0),
    )
    assert "with 10 a queue reaches only 5/s" in concurrency.warnings[0]
    assert "need at least 12,815 queues of 1/s each" in rate.warnings[0]
    usual = planned(10_000_000, latency_s=2.0)
    assert usual.warnings == ()
    assert usual.finished_s < min(concurrency.finished_s, rate.finished_s)


@pytest.mark.parametrize(
    ("retry", "warned"),
    [(Retry(1), True), (Retry(2), False), (Retry(1, max_retry_duration_s=3600.0), False)],
)
def test_queues_that_try_a_task_but_once_are_warned_of(retry, warned):
    found = [line for line in planned(100, retry=retry).warnings if "max_attempts is 1" in line]
    assert bool(found) == warned


def test_messages_have_no_quota_of_requests_to_fill():
    plan = planned(10**9, injector_queues=4, max_rate=2000.0, text=MESSAGES)
    assert plan_json(plan)["peak_quota_share"] == 0
    assert plan.estimate.peak_create_rate == 200_000
