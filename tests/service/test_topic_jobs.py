"""Jobs of a group that is a topic, through the whole service in one process."""

import json

import pytest

from handlers.parts import make_parts
from injector.control.events import Tells
from injector.delivery.memory_topics import MemoryTopics
from injector.groups import Group
from injector.ledger.ports import JobState, NewJob
from injector.naming import task_id
from injector.queues.preflight import look_at_topic
from injector.staging import unstage
from tests.bench import GROUP, MANIFEST
from tests.house import House, settings_of
from tests.moving_clock import MovingClock
from tests.scripted_topics import Topics, serve

TOPIC, EVENTS = "projects/p/topics/users", "projects/p/topics/jobs"
USERS = Group("users", GROUP.injector_queues[:1], (), TOPIC)
MESSAGES = """
job: users-1
group: users
records: users.jsonl
stop_when_rejected: 100%
message: {attributes: {kind: user}}
"""


@pytest.fixture
def house(tmp_path, signer):
    groups = {"users": USERS, "welcome": Group("welcome", GROUP.injector_queues[1:], GROUP.queues)}
    settings = settings_of(groups=groups, events_topic=EVENTS)
    topics = MemoryTopics([TOPIC, EVENTS])
    made = House(tmp_path, signer, settings, topics=topics)
    yield made
    made.ledger.close()


def run(house, manifest=MESSAGES, **staging: object):
    """Submit a job and let it run to its end."""
    assert house.submit(house.stage(manifest=manifest, **staging)).status_code == 201
    house.tick()
    answers = house.dispatch_all()
    house.tick()
    return answers


def report(house, job="users-1", *, every="true"):
    lines = house.get(f"/jobs/{job}/report?all={every}").text.splitlines()
    return [json.loads(line) for line in lines]


def test_every_record_becomes_a_message_with_its_id(house):
    answers = run(house, records=250)
    published = house.topics.topics[TOPIC]
    assert [answer.status_code for answer in answers] == [200] * 3
    assert {one.task_id for one in published} == {
        task_id("users-1", str(n).encode(), str(n)) for n in range(250)
    }
    assert json.loads(published[0].body).keys() == {"n"}
    assert house.get("/jobs/users-1").json["state"] == "finished"


def test_report_tells_each_messages_ids(house):
    run(house, records=120, bad=[7])
    rows = report(house)
    assert [row["outcome"] for row in rows].count("created") == 119
    assert {row["message_id"] for row in rows} == {"", *(str(n) for n in range(1, 120))}
    assert rows[8]["task"] == task_id("users-1", b"8", "8")
    assert [row["ordinal"] for row in report(house, every="false")] == [7]


def test_summary_prices_the_injector_tasks_and_no_messages(house):
    run(house, records=250)
    assert house.get("/jobs/users-1/summary").json["operations"] == 2 * 3


def test_redelivered_chunk_publishes_only_what_is_missing(house):
    house.topics.faults = ["OK"] * 5 + ["UNAVAILABLE"]
    assert house.submit(house.stage(10, manifest=MESSAGES)).status_code == 201
    house.tick()
    assert house.dispatch_all()[0].status_code == 503
    assert len(house.topics.topics[TOPIC]) == 9
    assert house.dispatch_all()[0].status_code == 200
    assert len({one.task_id for one in house.topics.topics[TOPIC]}) == 10
    assert len(house.topics.topics[TOPIC]) == 10
    assert all(row["message_id"] for row in report(house))


def test_missing_topic_pauses_the_job_with_its_remedy(house):
    del house.topics.topics[TOPIC]
    run(house, records=10)
    job = house.get("/jobs/users-1").json
    assert job["state"] == "paused"
    assert "create the topic" in job["reason"]


def test_rejects_are_published_by_a_redrive(house):
    house.topics.valid = lambda one: one.body != b'{"n": 3}'
    run(house, records=10)
    assert house.get("/jobs/users-1").json["rejected"] == 1
    house.topics.valid = lambda _: True
    assert house.ask("POST", "/jobs/users-1/redrive", json={}).json["opened"] == 1
    house.clock.sleep(1000)
    house.tick()
    house.dispatch_all()
    house.tick()
    assert house.get("/jobs/users-1").json["created"] == 10


def test_messages_cannot_be_taken_back(house):
    house.submit(house.stage(10, manifest=MESSAGES))
    answer = house.ask("POST", "/jobs/users-1/cancel", json={"take_back": True})
    assert answer.status_code == 400
    assert "cannot be taken back" in answer.json["detail"]
    assert house.get("/jobs/users-1").json["state"] == "running"
    assert house.ask("POST", "/jobs/users-1/cancel", json={}).json["state"] == "cancelled"


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (MANIFEST.replace("group: welcome", "group: users"), "write message: in place of task:"),
        (MESSAGES.replace("group: users", "group: welcome"), "write task: in place of message:"),
    ],
)
def test_manifest_that_does_not_fit_its_group_is_refused(house, manifest, said):
    answer = house.submit(house.stage(10, manifest=manifest))
    assert answer.status_code == 400
    assert said in answer.json["detail"]


def test_topic_is_among_what_a_group_is_looked_at_for(house):
    seen = house.get("/groups/users/queues").json["queues"]
    assert [queue["name"] for queue in seen] == [*USERS.injector_queues, TOPIC]
    del house.topics.topics[TOPIC]
    assert TOPIC in house.get("/groups/users/queues").json["queues"][-1]["problem"]


@pytest.mark.parametrize(
    "path",
    ["/", "/dashboard/groups/users", "/dashboard/groups/users/queues", "/dashboard/jobs/users-1"],
)
def test_dashboard_shows_a_topics_group_and_job(house, path):
    run(house, records=10)
    assert house.get(path).status_code == 200


def events(house):
    return [json.loads(one.body) for one in house.topics.topics[EVENTS]]


def test_topic_is_told_what_happens_to_jobs_in_order(house):
    house.tick()
    run(house, records=10)
    assert [each["type"] for each in events(house)] == [
        "job.started",
        "group.stepped",
        "job.finished",
    ]
    assert events(house)[0]["data"] == {"job": "users-1", "group": "users"}
    ids = [one.task_id for one in house.topics.topics[EVENTS]]
    assert len(set(ids)) == 3


@pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.FAILED])
def test_topic_is_told_that_a_job_was_ended_early_and_why(house, state):
    house.tick()
    house.submit(house.stage(10, manifest=MESSAGES))
    house.ledger.jobs.set_state("users-1", state, "out of luck", now=house.clock.now())
    house.tick()
    (ended,) = [each for each in events(house) if each["type"] == f"job.{state.value}"]
    assert ended["data"] == {
        "job": "users-1",
        "old": "running",
        "new": state.value,
        "reason": "out of luck",
    }


def test_slow_event_is_told_by_its_hedge():
    """Five calls make the token that a hedge costs; the sixth is never answered."""
    with serve(Topics({EVENTS: []}, plan=lambda _, number: "never" if number == 6 else "OK")) as at:
        wanted = {"emulator_host": at.address, "ledger_url": "sqlite://"}
        wanted |= {"hedge_delay_s": 0.1, "hedge_refill_ratio": 0.2}
        parts = make_parts(settings_of().model_copy(update=wanted))
        tells = Tells(parts.ledger, parts.publisher, MovingClock(), EVENTS)
        job = NewJob("users-1", "users", "{}", "file:///c", 1, 1, "sha256:1")
        parts.ledger.jobs.register(job, now=1.0)
        list(tells.run(USERS, rate=5.0, time_left=lambda: 45.0))
        for state in (JobState.PAUSED, JobState.RUNNING) * 3:
            parts.ledger.jobs.set_state("users-1", state, "", now=2.0)
            assert list(tells.run(USERS, rate=5.0, time_left=lambda: 45.0)) == []
        parts.close()
        parts.ledger.close()
    assert len(at.topics[EVENTS]) == 6
    slow, hedge = at.requests[5:]
    assert (slow, at.cancelled) == (hedge, 1)


def test_events_that_could_not_be_told_are_told_later_and_stop_no_job(house):
    house.tick()
    kept = house.topics.topics.pop(EVENTS)
    run(house, records=10)
    assert house.get("/jobs/users-1").json["state"] == "finished"
    said = house.tick().json["groups"][0]["errands"]
    assert any("could not be told of job.started" in line for line in said)
    house.topics.topics[EVENTS] = kept
    house.tick()
    assert sorted({each["type"] for each in events(house)}) == [
        "group.stepped",
        "job.finished",
        "job.started",
    ]


def test_event_that_is_told_twice_has_the_same_id(house):
    house.tick()
    house.submit(house.stage(10, manifest=MESSAGES))
    house.ask("POST", "/jobs/users-1/pause", json={})
    house.topics.faults = ["lost UNAVAILABLE"]
    house.tick()
    house.tick()
    told = [one.task_id for one in house.topics.topics[EVENTS]]
    assert len(told) == 2
    assert len(set(told)) == 1


def test_end_of_a_job_is_told_to_the_topic_that_its_manifest_names(house):
    run(house, f"{MESSAGES}notify: {{topic: {EVENTS}}}\n", records=10)
    (end,) = [
        one for one in house.topics.topics[EVENTS] if ("injector-event", "job.ended") in one.headers
    ]
    assert end.task_id.startswith("users-1-")
    assert json.loads(end.body)["data"]["created"] == 10


def test_job_whose_end_nobody_can_be_told_is_refused_before_anything_is_made(house):
    manifest = f"{MESSAGES}notify: {{topic: {EVENTS}-gone}}\n"
    answer = house.submit(house.stage(manifest=manifest))
    assert answer.status_code == 400
    assert f"notify.topic: topic {EVENTS}-gone is not there" in answer.json["detail"]
    assert house.get("/jobs").json["jobs"] == []


def test_job_whose_chunks_are_taken_back_while_its_topic_is_looked_at_is_refused(
    house, monkeypatch
):
    job = house.stage(manifest=f"{MESSAGES}notify: {{topic: {EVENTS}}}\n")

    def look(topic, topics):
        assert unstage(job["staged"]["store"], is_named=lambda: False)
        return look_at_topic(topic, topics)

    monkeypatch.setattr("handlers.jobs.look_at_topic", look)
    answer = house.submit(job)
    assert answer.status_code == 400
    assert "the service cannot read the chunks" in answer.json["detail"]
    assert house.get("/jobs").json["jobs"] == []


def test_job_that_is_there_is_submitted_again_though_its_topic_is_gone(house):
    job = house.stage(manifest=f"{MESSAGES}notify: {{topic: {EVENTS}}}\n")
    assert house.submit(job).status_code == 201
    del house.topics.topics[EVENTS]
    assert house.submit(job).status_code == 200


def test_job_is_registered_though_nobody_can_say_whether_its_topic_is_there(house):
    house.topics.away = True
    manifest = f"{MESSAGES}notify: {{topic: {EVENTS}}}\n"
    assert house.submit(house.stage(manifest=manifest)).status_code == 201
