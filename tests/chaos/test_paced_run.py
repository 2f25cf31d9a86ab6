"""Pacing as a user sees it: `injector up` on a fast clock, faults, and the emulator's counters."""

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import grpc
import pytest
import requests
from google.cloud import monitoring_v3
from google.cloud.monitoring_v3.services.metric_service.transports import (
    MetricServiceGrpcTransport,
)

from tests.chaos.local_world import local_world
from tests.pace.law import excess
from tests.waiting import PATIENCE_S, until

RATE = 0.02
STEP_S = 300.0
LATENESS = 'metric.type = "cloudtasks.googleapis.com/queue/task_attempt_delays"'
pytestmark = pytest.mark.timeout(300)


@contextmanager
def paced(folder, *, speed=60.0, **options: object):
    with local_world(folder, rate=RATE, speed=speed, **options) as world:
        world.submit().check_returncode()
        yield world


def now(world):
    """Return how the group stands."""
    return world.ask("/groups/chaos")


def steps(world):
    """Return the decisions that changed the rate, oldest first, as `injector ramp` shows them."""
    shown = world.command("ramp", "chaos", "--json")
    assert shown.returncode == 0, shown.stderr
    decisions = json.loads(shown.stdout)["decisions"][::-1]
    started = [each for each in decisions if each["rate"]]
    changes = (later for before, later in pairwise(started) if later["rate"] != before["rate"])
    return [started[0], *changes]


def rate(world):
    return now(world)["state"]["rate"]


def last_reason(world):
    return now(world)["last_tick"]["reason"]


def dispatched(world):
    """Return the injector queue's dispatches by minute, as the emulator tells Monitoring."""
    with grpc.insecure_channel(f"127.0.0.1:{world.run.emulator_port}") as channel:
        client = monitoring_v3.MetricServiceClient(
            transport=MetricServiceGrpcTransport(channel=channel)
        )
        start, end = (datetime.fromtimestamp(at, UTC) for at in (world.run.origin, world.now))
        found = client.list_time_series(
            request={
                "name": "projects/local",
                "filter": f'{LATENESS} AND resource.labels.queue_id = "chaos-injector"',
                "interval": {"start_time": start, "end_time": end},
            }
        )
        points = [point for series in found for point in series.points]
    counts = {
        int(point.interval.end_time.timestamp() // 60): point.value.distribution_value.count
        for point in points
    }
    return [counts.get(minute, 0) for minute in range(min(counts), max(counts) + 1)]


def keeps_the_law(world):
    """Check the controller's own words, and what the emulator counted."""
    decisions = steps(world)
    raises = [each for each in decisions if each["action"] == "raise"]
    for before, later in pairwise(decisions):
        assert later["rate"] <= 1.5 * before["rate"] * 1.001
    for before, later in pairwise(raises):
        assert later["at"] - before["at"] >= STEP_S - 1
    assert excess(dispatched(world), first_rate=RATE) <= 0
    return True


@pytest.mark.timeout(500)
def test_two_services_ticked_all_the_time_climb_as_one(tmp_path):
    with paced(tmp_path, speed=20.0, records=30_000) as world, world.another_service() as url:
        stop = threading.Event()

        def tick(service):
            while not stop.wait(0.5):
                requests.post(f"{service}/control/tick", timeout=PATIENCE_S)

        with ThreadPoolExecutor(3) as pool:
            for service in (world.run.service_url, url, url):
                pool.submit(tick, service)
            try:
                until(lambda: rate(world) > 3 * RATE, what="three steps are taken", within_s=300)
            finally:
                stop.set()
        actions = [each["action"] for each in steps(world)]
        assert actions.count("raise") >= 3
        assert {"start", "raise"} >= set(actions)
        assert keeps_the_law(world)


def test_an_outage_of_a_fifth_of_the_creates_is_met_by_a_cut_and_lived_through(tmp_path):
    with paced(tmp_path, records=2500) as world:
        until(lambda: rate(world) > RATE, what="a step is taken")
        before = rate(world)
        world.fault(effect="error", methods=["CreateTask"], queue="*/chaos-0*", rate=0.2)
        until(lambda: rate(world) < before, what="the rate is cut")
        cut = steps(world)[-1]
        assert (cut["action"], "UNAVAILABLE" in cut["reason"]) == ("cut", True)
        (fault,) = world.end_faults()["faults"]
        assert fault["applied"] > 10
        world.await_end()
        assert keeps_the_law(world)
        account = world.account()
        assert account.faults() == []
        assert account.redelivered == 0


@contextmanager
def target(port, statuses):
    """Serve a target that answers what `statuses` say at the moment; yield what came."""
    came = Counter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status = statuses[-1]
            if status == 200:
                came[self.path.rpartition("/")[2]] += 1
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield came
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_target_that_answers_429_is_waited_for(tmp_path):
    statuses = [200]
    with (
        paced(tmp_path, records=2500, has_target=False) as world,
        target(world.target_port, statuses) as came,
    ):
        until(lambda: rate(world) > RATE, what="a step is taken")
        statuses.append(429)
        until(lambda: "the target fails" in last_reason(world), what="that is seen")
        held = rate(world)
        statuses.append(200)
        until(lambda: rate(world) > held, what="the group climbs on")
        world.await_end()
        assert set(came) == world.wanted
        assert set(came.values()) == {1}
        assert keeps_the_law(world)
