"""A job of a topic, end to end: the example, the service, the emulator, and Google's subscriber."""

import csv
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import airportsdata
import pytest
import requests

from injector.cli.preflight import queue_problems
from injector.delivery.address import Address
from injector.delivery.connection import Connection
from injector.delivery.creator import Delivery
from injector.delivery.publisher import make_publisher
from injector.delivery.subscriber import received
from injector.local.layout import subscription_of
from injector.local.up import prepare
from injector.manifest import load_groups, load_manifest
from injector.naming import task_id
from injector.pacing.ramp import CHUNK
from injector.staging import stage
from injector.staging.source import source_of
from tests.emulator.live import live_emulator
from tests.house import House, settings_of
from tests.unit.test_local_layout import a_run
from tests.waiting import PATIENCE_S, until

EXAMPLES = Path(__file__).parents[2] / "examples"
AIRPORTS = Path(airportsdata.__file__).with_name("airports.csv")
GROUPS = load_groups((EXAMPLES / "topic-groups.yaml").read_text(), source="groups")
TOPIC = GROUPS["arrivals"].topic
RECORDS = 1000
LOST = 4
"""Of the 14 calls that ten chunks take, when each third answer is lost."""


@pytest.fixture
def world(tmp_path, signer):
    """Give a service that publishes to an emulator, and the emulator's control port."""
    subscription = f"{subscription_of(TOPIC)}={{topic: {TOPIC}}}"
    with ExitStack() as stack:
        live = stack.enter_context(live_emulator(topics=(TOPIC,), subscriptions=(subscription,)))
        host = f"127.0.0.1:{live.running.port}"
        connection = Connection(Address(emulator_host=host))
        stack.callback(connection.close)
        house = House(tmp_path, signer, settings_of(groups=GROUPS))
        house.creator.queues.queues |= {
            name: queue_like(house, name) for name in GROUPS["arrivals"].injector_queues
        }
        house.topics = make_publisher(connection, Delivery())
        stack.callback(house.ledger.close)
        yield house, live, host


def queue_like(house, name):
    return replace(next(iter(house.creator.queues.queues.values())), name=name)


def airports(folder):
    """Write the first airports of the example's file; return their ids."""
    with AIRPORTS.open(encoding="utf-8", newline="") as lines:
        head = [next(lines) for _ in range(RECORDS + 1)]
    (folder / "airports.csv").write_text("".join(head), encoding="utf-8")
    return [row["icao"] for row in csv.DictReader(head)]


def submitted(house, folder):
    manifest = load_manifest(EXAMPLES / "airport-messages.yaml")
    source = source_of(manifest.model_copy(update={"records": str(folder / "airports.csv")}))
    staged = stage(source, manifest, house.settings.store_url, clock=house.clock)
    names = ("store", "records", "chunks", "rejected", "digest")
    return {
        "manifest": manifest.model_dump(mode="json"),
        "staged": {name: getattr(staged, name) for name in names},
    }


def run(house):
    """Tick and deliver until the job has ended."""
    while house.get("/jobs/airport-messages").json["state"] == "running":
        house.tick()
        house.dispatch_all()
        house.clock.sleep(300)


def test_every_record_arrives_and_its_id_tells_the_copies_of_lost_answers(world, tmp_path):
    house, live, host = world
    sent = airports(tmp_path)
    lost = {"effect": "lost", "methods": ["Publish"], "every": 3, "code": "UNAVAILABLE"}
    requests.put(f"{live.url}/control/faults", json={"faults": [lost]}, timeout=PATIENCE_S)
    assert house.submit(submitted(house, tmp_path)).status_code == 201
    run(house)
    ids = Counter()
    wanted = {task_id("airport-messages", each.encode(), each) for each in sent}
    with received(subscription_of(TOPIC), host, lambda has: ids.update([has["injector-id"]])):
        published = requests.get(f"{live.url}/control/topics", timeout=PATIENCE_S).json()
        until(lambda: ids.total() >= published_in(published))
    assert set(ids) == wanted
    assert ids.total() - RECORDS == LOST * CHUNK
    assert house.get("/jobs/airport-messages").json["created"] == RECORDS


def published_in(shown):
    return next(each["messages"] for each in shown["topics"] if each["name"] == TOPIC)


def test_local_run_makes_each_topic_and_counts_what_its_subscription_delivers(tmp_path):
    run = prepare(a_run(tmp_path, groups=EXAMPLES / "topic-groups.yaml"))
    target, emulator, _ = run.programs()
    assert run.topics == (TOPIC,)
    assert emulator.command[-4:-1] == ("--topic", TOPIC, "--subscription")
    assert target.command[-1] == subscription_of(TOPIC)


@pytest.mark.parametrize(("told", "said"), [(TOPIC, []), (f"{TOPIC}-gone", [f"{TOPIC}-gone"])])
def test_plan_asks_the_emulator_for_the_topic_that_is_told_of_the_end(world, told, said):
    _, _, host = world
    group = replace(GROUPS["arrivals"], injector_queues=())
    found = queue_problems(
        group, known_here=True, service=None, emulator_host=host, pubsub_host=host, told=told
    )
    assert [line.partition("notify.topic: topic ")[2].partition(":")[0] for line in found] == said
