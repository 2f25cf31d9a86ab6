"""An emulator in real time, a real client, and a target on loopback."""

import time
import uuid
from collections.abc import Iterator

import pytest

from tests.emulator.live import Live, Target, http_target, live_emulator
from tests.waiting import until

LOCATION = "projects/p/locations/us-central1"
FAST = {"min_backoff": {"nanos": 10_000_000}, "max_backoff": {"nanos": 20_000_000}}


@pytest.fixture(scope="module")
def app_engine() -> Iterator[Target]:
    with http_target() as served:
        yield served


@pytest.fixture(scope="module")
def live(app_engine) -> Iterator[Live]:
    with live_emulator(app_engine=app_engine.url) as emulator:
        yield emulator


@pytest.fixture
def target() -> Iterator[Target]:
    with http_target() as served:
        yield served


def queue_in(live, **settings: object) -> str:
    name = f"{LOCATION}/queues/{uuid.uuid4().hex}"
    live.client.create_queue(parent=LOCATION, queue={"name": name, **settings})
    return name


def create(live, queue, **task: object):
    return live.client.create_task(parent=queue, task=task)


def is_empty(live, queue) -> bool:
    return not list(live.client.list_tasks(parent=queue))


def test_request_arrives_to_the_letter(live, target):
    queue = queue_in(live)
    headers = {"X-Mine": "a, b", "content-type": "application/json", "Host": "evil"}
    url = f"{target.url}/sub?param=a%20b&x=1"
    request = {"url": url, "headers": headers, "body": b"\x00{}\xff"}
    create(live, queue, name=f"{queue}/tasks/t-1", http_request=request)
    (seen,) = target.wait(1)
    assert (seen.method, seen.path, seen.body) == ("POST", "/sub?param=a%20b&x=1", b"\x00{}\xff")
    assert seen.all("Host") == [target.url.removeprefix("http://")]
    assert seen.all("Content-Length") == ["4"]
    assert seen.all("Content-Type") == ["application/json"]
    assert seen.all("X-Mine") == ["a, b"]
    assert seen.all("User-Agent") == ["Google-Cloud-Tasks"]
    assert seen.all("X-CloudTasks-QueueName") == [queue.rpartition("/")[2]]
    assert seen.all("X-CloudTasks-TaskName") == ["t-1"]
    assert seen.all("X-CloudTasks-TaskRetryCount") == ["0"]
    assert seen.all("X-CloudTasks-TaskPreviousResponse") == []
    until(lambda: is_empty(live, queue))


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_every_method_is_sent(live, target, method):
    create(live, queue_in(live), http_request={"url": target.url, "http_method": method})
    assert target.wait(1)[0].method == method


@pytest.mark.parametrize("status", [200, 204, 299])
def test_any_2xx_ends_the_task(live, target, status):
    target.script.append(status)
    queue = queue_in(live)
    create(live, queue, http_request={"url": target.url})
    target.wait(1)
    until(lambda: is_empty(live, queue))
    assert len(target.seen) == 1


@pytest.mark.parametrize("status", [304, 404, 429, 500, 503])
def test_anything_else_is_retried_with_the_retrys_headers(live, target, status):
    target.script.append(status)
    queue = queue_in(live, retry_config=FAST)
    create(live, queue, http_request={"url": target.url, "body": b"same"})
    _, second = target.wait(2)
    assert second.body == b"same"
    assert second.all("X-CloudTasks-TaskRetryCount") == ["1"]
    assert second.all("X-CloudTasks-TaskPreviousResponse") == [str(status)]
    assert second.all("X-CloudTasks-TaskRetryReason") == [""]
    until(lambda: is_empty(live, queue))


def test_task_is_dropped_after_its_last_attempt(live, target):
    target.script.extend([500] * 5)
    queue = queue_in(live, retry_config={**FAST, "max_attempts": 3})
    create(live, queue, http_request={"url": target.url})
    target.wait(3)
    until(lambda: is_empty(live, queue))
    assert len(target.seen) == 3


def test_target_that_refuses_the_connection_is_tried_again(live):
    queue = queue_in(live, retry_config=FAST)
    name = create(live, queue, http_request={"url": "http://127.0.0.1:9/x"}).name
    until(lambda: live.client.get_task(name=name).dispatch_count >= 2)
    assert live.client.get_task(name=name).response_count == 0
    live.client.delete_queue(name=queue)


def test_concurrency_limit_holds_on_the_wire(live, target):
    target.together, target.delay_s = 2, 0.05
    queue = queue_in(live, rate_limits={"max_concurrent_dispatches": 2})
    for _ in range(6):
        create(live, queue, http_request={"url": target.url})
    target.wait(6)
    assert target.peak == 2


def test_tasks_of_one_queue_run_side_by_side(live, target):
    target.together = 8
    queue = queue_in(live)
    for _ in range(8):
        create(live, queue, http_request={"url": target.url})
    target.wait(8)
    assert target.peak == 8


def test_future_task_is_not_early(live, target):
    at = time.time() + 0.4
    stamp = {"seconds": int(at), "nanos": int(at % 1 * 1e9)}
    create(live, queue_in(live), http_request={"url": target.url}, schedule_time=stamp)
    target.wait(1)
    assert time.time() >= at - 0.001


def test_app_engine_task_goes_to_the_address_that_stands_for_it(live, app_engine):
    queue = queue_in(live, retry_config=FAST)
    path = f"/{uuid.uuid4().hex}?a=1"
    app_engine.script.append(500)
    request = {"relative_uri": path, "body": b"x", "http_method": "PUT"}
    create(live, queue, app_engine_http_request=request)
    until(lambda: sum(seen.path == path for seen in app_engine.seen) == 2)
    first, second = (seen for seen in app_engine.seen if seen.path == path)
    assert (first.method, first.body) == ("PUT", b"x")
    assert first.all("Content-Type") == ["application/octet-stream"]
    assert first.all("User-Agent") == ["AppEngine-Google; (+http://code.google.com/appengine)"]
    assert second.all("X-AppEngine-TaskExecutionCount") == ["1"]
    assert second.all("X-AppEngine-TaskRetryReason") == ["App Error"]


def test_run_dispatches_from_a_paused_queue(live, target):
    queue = queue_in(live)
    live.client.pause_queue(name=queue)
    name = create(live, queue, http_request={"url": target.url}).name
    live.client.run_task(name=name)
    target.wait(1)
    until(lambda: is_empty(live, queue))


def test_deadline_counts_in_the_emulators_time(target):
    target.delay_s = 0.5
    with live_emulator(speed=200.0) as fast:
        queue = queue_in(fast)
        task = {"http_request": {"url": target.url}, "dispatch_deadline": {"seconds": 15}}
        name = create(fast, queue, **task).name
        target.wait(1)
        until(lambda: fast.client.get_task(name=name).last_attempt.response_status.code == 4)
        assert fast.client.get_task(name=name).response_count == 0
        fast.client.delete_queue(name=queue)


def test_rate_holds_on_the_wire(live, target):
    queue = queue_in(live, rate_limits={"max_dispatches_per_second": 20})
    live.client.pause_queue(name=queue)
    for _ in range(28):
        create(live, queue, http_request={"url": target.url})
    started = time.monotonic()
    live.client.resume_queue(name=queue)
    target.wait(28)
    assert time.monotonic() - started >= 0.25  # a burst of 20, and 8 more at 20/s


def test_purging_and_deleting_while_targets_hang_does_no_harm(live, target):
    target.delay_s = 0.3
    queues = [queue_in(live) for _ in range(2)]
    for queue in queues:
        for _ in range(10):
            create(live, queue, http_request={"url": target.url})
    target.wait(20)
    live.client.purge_queue(name=queues[0])
    live.client.delete_queue(name=queues[1])
    until(lambda: target.active == 0)
    assert is_empty(live, queues[0])
