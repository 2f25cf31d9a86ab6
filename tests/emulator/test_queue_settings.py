"""Queues: settings, defaults, bounds, names."""

from math import nan

import pytest
from google.cloud import tasks_v2

from injector.emulator.api.service import Rules
from tests.emulator.direct import refused

LOCATION = "projects/p/locations/us-central1"


def test_new_queue_runs_with_the_documented_defaults(direct):
    queue = direct.client.get_queue(name=direct.queue())
    rate, retry = queue.rate_limits, queue.retry_config
    assert queue.state == tasks_v2.Queue.State.RUNNING
    assert (rate.max_dispatches_per_second, rate.max_concurrent_dispatches) == (500, 1000)
    assert (retry.max_attempts, retry.max_doublings) == (100, 16)
    assert retry.min_backoff.total_seconds() == 0.1
    assert retry.max_backoff.total_seconds() == 3600


def test_given_settings_are_kept_and_gaps_are_filled(direct):
    name = direct.queue(
        rate_limits={"max_dispatches_per_second": 0.5},
        retry_config={"max_attempts": -1, "max_backoff": {"seconds": 9, "nanos": 900_000_000}},
    )
    queue = direct.client.get_queue(name=name)
    assert queue.rate_limits.max_dispatches_per_second == 0.5
    assert queue.rate_limits.max_concurrent_dispatches == 1000
    assert queue.retry_config.max_attempts == -1
    assert queue.retry_config.max_backoff.total_seconds() == 9


@pytest.mark.parametrize(("rate", "burst"), [(0.1, 1), (7.5, 8), (500, 500)])
def test_burst_is_derived_from_the_rate_whatever_the_caller_says(direct, rate, burst):
    limits = {"max_dispatches_per_second": rate, "max_burst_size": -1}
    queue = direct.client.get_queue(name=direct.queue(rate_limits=limits))
    assert queue.rate_limits.max_burst_size == burst


def test_state_and_purge_time_cannot_be_set(direct):
    name = direct.queue(state=tasks_v2.Queue.State.PAUSED, purge_time={"seconds": 1})
    queue = direct.client.get_queue(name=name)
    assert queue.state == tasks_v2.Queue.State.RUNNING
    assert queue.purge_time is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"rate_limits": {"max_dispatches_per_second": 500.01}},
            "RateLimits.maxDispatchesPerSecond must be less than or equal to 500.",
        ),
        (
            {"rate_limits": {"max_dispatches_per_second": -0.1}},
            "RateLimits.maxDispatchesPerSecond cannot be negative.",
        ),
        ({"rate_limits": {"max_dispatches_per_second": nan}}, "cannot be negative."),
        (
            {"rate_limits": {"max_concurrent_dispatches": 5001}},
            "RateLimits.maxConcurrentDispatches must be less than or equal to 5000.",
        ),
        (
            {"rate_limits": {"max_concurrent_dispatches": -1}},
            "RateLimits.maxConcurrentDispatches cannot be negative.",
        ),
        (
            {"retry_config": {"max_attempts": -2}},
            "RetryConfig.maxAttempts must be greater or equal to -1.",
        ),
        ({"retry_config": {"max_doublings": -1}}, "RetryConfig.maxDoublings cannot be negative."),
        (
            {"retry_config": {"min_backoff": {"seconds": -1}}},
            "RetryConfig.minBackoff cannot be negative.",
        ),
        (
            {"retry_config": {"max_retry_duration": {"seconds": -1}}},
            "RetryConfig.maxRetryDuration cannot be negative.",
        ),
        (
            {"retry_config": {"min_backoff": {"seconds": 9}, "max_backoff": {"seconds": 3}}},
            "RetryConfig.minBackoff must be less than or equal to RetryConfig.maxBackoff.",
        ),
        ({"stackdriver_logging_config": {"sampling_ratio": 1.5}}, "between 0.0 and 1.0"),
        ({"http_target": {"uri_override": {"host": ""}}}, "UriOverride.host"),
        ({"http_target": {"uri_override": {"port": -1}}}, "UriOverride.port"),
        (
            {"http_target": {"oidc_token": {"service_account_email": "a@b"}}},
            "needs a service account email and an audience",
        ),
        (
            {"http_target": {"oauth_token": {"service_account_email": "a@b"}}},
            "needs a service account email and a scope",
        ),
    ],
)
def test_setting_out_of_bounds_is_refused_in_productions_words(direct, settings, message):
    with refused("INVALID_ARGUMENT", message):
        direct.queue(**settings)


@pytest.mark.parametrize("queue_id", ["a_b", "with space", "dot.ted", "", "x" * 101, "a/b", "ü"])
def test_bad_queue_id_is_refused_with_a_link_to_the_rules(direct, queue_id):
    with pytest.raises(Exception, match="Queue name must be formatted") as caught:
        direct.queue(queue_id)
    assert "Queue.FIELDS.name" in caught.value.details[0].links[0].url


@pytest.mark.parametrize("queue_id", ["Ab-1", "-a", "x" * 100])
def test_queue_id_may_hold_letters_digits_and_hyphens(direct, queue_id):
    assert direct.client.get_queue(name=direct.queue(queue_id)).name.endswith(f"/{queue_id}")


def test_project_may_have_a_domain(direct):
    parent = "projects/my.org:proj/locations/europe-west1"
    name = f"{parent}/queues/q"
    assert direct.client.create_queue(parent=parent, queue={"name": name}).name == name


def test_malformed_parent_is_an_invalid_consumer(direct):
    with refused("PERMISSION_DENIED", "Permission denied on resource project nowhere."):
        direct.client.create_queue(parent="nowhere", queue={"name": f"{LOCATION}/queues/q"})


@pytest.mark.parametrize("location", ["-", "europe-west1 ", "1"])
def test_location_that_cannot_be_is_refused(direct, location):
    parent = f"projects/p/locations/{location}"
    with refused("PERMISSION_DENIED"):
        direct.client.create_queue(parent=parent, queue={"name": f"{parent}/queues/q"})


def test_queue_has_to_lie_in_its_parent(direct):
    other = "projects/p/locations/europe-west1/queues/q"
    with refused("INVALID_ARGUMENT"):
        direct.client.create_queue(parent=LOCATION, queue={"name": other})


def test_location_that_is_not_among_the_named_ones_is_refused(emulate):
    emulator = emulate(rules=Rules(locations=frozenset({"europe-west1"})))
    with refused("INVALID_ARGUMENT", "Location 'us-central1' is not a valid location."):
        emulator.queue()


def test_location_holds_no_more_queues_than_its_quota(emulate):
    emulator = emulate(rules=Rules(max_queues=2))
    emulator.queue("a")
    emulator.queue("b")
    with refused("RESOURCE_EXHAUSTED"):
        emulator.queue("c")
