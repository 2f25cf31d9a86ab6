"""Jobs under way: paused, resumed, tuned and cancelled by people."""

import json

import pytest
import responses

from tests.bench import MANIFEST
from tests.house import PERSON, QUEUE
from tests.steered import LENIENT, audit_of, job_of, patch, post, run_on, submitted, user_tasks


def test_no_task_is_created_from_the_moment_of_a_pause(house):
    submitted(house)
    house.tick()
    assert post(house, "pause").json["state"] == "paused"
    answers = house.dispatch_all()
    assert [answer.json["status"] for answer in answers] == ["parked"] * 3
    assert user_tasks(house) == []


def test_what_was_dispatched_while_paused_is_fed_again_after_resume(house):
    submitted(house)
    house.tick()
    post(house, "pause")
    house.dispatch_all()
    post(house, "resume")
    house.clock.time += 60
    run_on(house, ticks=2)
    job = job_of(house)
    assert (job["state"], job["created"]) == ("finished", 250)
    assert len(user_tasks(house)) == 250


def test_a_paused_job_is_fed_no_more(house):
    submitted(house, 250_000)
    house.tick()
    fed = job_of(house)["fed"]
    post(house, "pause")
    house.clock.time += 120
    house.tick()
    assert job_of(house)["fed"] == fed


@pytest.mark.parametrize("act", ["pause", "resume", "cancel"])
def test_the_same_act_again_changes_nothing(house, act):
    submitted(house)
    if act == "resume":
        post(house, "pause")
    first, again = post(house, act), post(house, act)
    assert (first.status_code, again.status_code) == (200, 200)
    assert first.json["version"] == again.json["version"]


@pytest.mark.parametrize("act", ["pause", "resume", "retry", "redrive"])
def test_a_cancelled_job_stays_so(house, act):
    submitted(house)
    post(house, "cancel")
    answer = post(house, act)
    assert answer.status_code == 409
    assert "is cancelled" in answer.json["detail"]


def test_every_change_has_a_line_with_who_when_from_and_to(house):
    submitted(house)
    house.clock.time += 5
    post(house, "pause")
    patch(house, {"weight": 3.0, "max_rate": 1000, "stop_when_rejected": "2%"})
    lines = audit_of(house)
    assert {line["who"] for line in lines} == {PERSON}
    assert {(line["what"], line["old"], line["new"]) for line in lines[:4]} == {
        ("weight", "1.0", "3.0"),
        ("max_rate", "none", "1000 creates/s"),
        ("rejects_allowed", "None", "5"),
        ("state", "running", "paused"),
    }
    assert lines[0]["at"] == house.clock.time


def test_a_change_leaves_what_it_does_not_name(house):
    submitted(house)
    patch(house, {"weight": 3.0, "priority": 7})
    shown = patch(house, {"max_rate": 250}).json
    assert (shown["weight"], shown["priority"], shown["max_rate"]) == (3.0, 7, 250)
    assert patch(house, {"max_rate": None}).json["max_rate"] is None


def test_a_rate_limit_holds_from_the_next_tick(house):
    submitted(house, 250_000)
    patch(house, {"max_rate": 100})
    house.tick()
    assert job_of(house)["fed"] == pytest.approx(180, abs=2)
    assert job_of(house)["rate_allowed"] == 100


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"weight": 0}, "weight"),
        ({"weight": "3"}, "weight"),
        ({"max_rate": -1}, "max_rate"),
        ({"priority": 1.5}, "priority"),
        ({"priority": 101}, "priority"),
        ({"stop_when_rejected": "101%"}, "stop_when_rejected"),
        ({"wieght": 2}, "wieght"),
        ([], "the body is not a change"),
    ],
)
def test_a_change_that_cannot_be_is_400_and_changes_nothing(house, body, why):
    submitted(house)
    before = job_of(house)
    answer = patch(house, body)
    assert answer.status_code == 400
    assert why in answer.json["detail"]
    assert job_of(house) == before


def test_a_job_that_has_ended_cannot_be_tuned(house):
    submitted(house)
    post(house, "cancel")
    assert patch(house, {"weight": 2.0}).status_code == 409


def test_a_job_carries_its_version_as_etag(house):
    submitted(house)
    shown = house.get("/jobs/welcome-1")
    assert shown.headers["ETag"] == f'"{shown.json["version"]}"'
    assert post(house, "pause").headers["ETag"] == f'"{shown.json["version"] + 1}"'


@pytest.mark.parametrize(
    "act",
    [
        lambda house, etag: post(house, "pause", If_Match=etag),
        lambda house, etag: post(house, "cancel", If_Match=etag),
        lambda house, etag: post(house, "redrive", If_Match=etag),
        lambda house, etag: patch(house, {"weight": 2.0}, If_Match=etag),
        lambda house, etag: house.ask("DELETE", "/jobs/welcome-1", headers={"If-Match": etag}),
    ],
)
def test_a_change_meant_for_an_older_job_is_412_and_changes_nothing(house, act):
    submitted(house)
    old = house.get("/jobs/welcome-1").headers["ETag"]
    patch(house, {"weight": 9.0})
    before = job_of(house)
    assert act(house, old).status_code == 412
    assert job_of(house) == before


def test_a_change_meant_for_the_job_as_it_is_goes_through(house):
    submitted(house)
    etag = house.get("/jobs/welcome-1").headers["ETag"]
    assert patch(house, {"weight": 2.0}, If_Match=etag).json["weight"] == 2.0
    assert patch(house, {"weight": 3.0}, If_Match="*").json["weight"] == 3.0


def test_an_etag_that_is_none_is_400(house):
    submitted(house)
    answer = post(house, "pause", If_Match="W/x")
    assert answer.status_code == 400
    assert "If-Match" in answer.json["detail"]


def test_a_request_with_a_key_is_done_once(house):
    submitted(house)
    first = post(house, "pause", Idempotency_Key="k1")
    post(house, "resume")
    again = post(house, "pause", Idempotency_Key="k1")
    assert (again.status_code, again.json) == (first.status_code, first.json)
    assert job_of(house)["state"] == "running"


def test_a_key_is_for_one_request_only(house):
    submitted(house)
    post(house, "pause", Idempotency_Key="k1")
    answer = post(house, "resume", Idempotency_Key="k1")
    assert answer.status_code == 422
    assert "another request" in answer.json["detail"]


def test_a_request_that_failed_leaves_its_key_free(house):
    submitted(house)
    assert patch(house, {"weight": 0}, Idempotency_Key="k1").status_code == 400
    assert patch(house, {"weight": 2}, Idempotency_Key="k1").status_code == 200


def test_a_repeat_that_comes_before_the_answer_is_409(house):
    submitted(house)
    post(house, "pause", Idempotency_Key="k1")
    house.ledger.database.write(
        lambda connection: connection.exec_driver_sql("UPDATE answers SET status = NULL")
    )
    answer = post(house, "pause", Idempotency_Key="k1")
    assert answer.status_code == 409
    assert "still under way" in answer.json["detail"]


def test_a_job_that_has_ended_is_removed_and_its_audit_stays(house):
    submitted(house)
    assert house.ask("DELETE", "/jobs/welcome-1").status_code == 409
    post(house, "cancel", {"take_back": True})
    assert house.ask("DELETE", "/jobs/welcome-1").status_code == 204
    assert house.get("/jobs/welcome-1").status_code == 404
    assert audit_of(house)[0]["what"] == "deleted"
    assert house.submit(house.stage()).status_code == 201


def test_an_audit_of_a_job_that_never_was_is_404(house):
    assert house.get("/jobs/never/audit").status_code == 404


def test_a_summary_accounts_for_the_job_as_a_whole(house):
    submitted(house, 250, bad=[7, 9], manifest=LENIENT)
    run_on(house, ticks=1)
    shown = house.get("/jobs/welcome-1/summary").json
    assert (shown["open"], shown["adds_up"], shown["operations"]) == (0, True, 2 * (248 + 3))
    assert [decision["action"] for decision in shown["ramp_history"]][:1] == ["start"]
    assert sum(shown["rejects_by_reason"].values()) == 2
    assert shown["took_s"] == 60


def test_a_manifest_is_shown_as_it_was_submitted(house):
    submission = house.stage()
    house.submit(submission)
    assert house.get("/jobs/welcome-1/manifest").json == submission["manifest"]


def test_the_queues_of_a_group_are_shown_with_what_is_wrong(house):
    name = "projects/p/locations/l/queues/welcome-1"
    del house.creator.queues.queues[name]
    shown = house.get("/groups/welcome/queues").json["queues"]
    assert [bool(queue["problem"]) for queue in shown] == [False, False, False, True]
    assert name in shown[3]["problem"]


def test_a_child_is_named_after_its_parent_if_it_says_so(house):
    submitted(house, 250)
    run_on(house, ticks=1)
    tasks = user_tasks(house)
    child = house.stage(250, manifest=MANIFEST.replace("welcome-1", "again"))
    assert house.submit(child | {"parent": "welcome-1", "keeps_names": True}).status_code == 201
    run_on(house, ticks=1)
    job = job_of(house, "again")
    assert (job["parent"], job["existed"], job["created"]) == ("welcome-1", 250, 0)
    assert user_tasks(house) == tasks


def test_a_child_of_nobody_is_400(house):
    answer = house.submit(house.stage() | {"parent": "nobody"})
    assert answer.status_code == 400
    assert "nobody" in answer.json["detail"]


def test_a_delivery_that_is_under_way_at_a_pause_is_counted(house):
    submitted(house)
    create_all = type(house.creator).create_all

    def pausing(creator, creates, *, budget_s):
        post(house, "pause")
        return create_all(creator, creates, budget_s=budget_s)

    with pytest.MonkeyPatch.context() as patch_:
        patch_.setattr(type(house.creator), "create_all", pausing)
        task = {"version": 1, "job": "welcome-1", "chunk": 0}
        assert house.inject(json.dumps(task).encode()).json["status"] == "settled"
    assert job_of(house)["created"] == 100
    assert QUEUE not in {line["who"] for line in audit_of(house)}


def test_a_webhook_is_told_by_the_tick_that_finds_the_job_done(house):
    told = "https://hooks.example/x"
    submitted(house, 250, manifest=MANIFEST + f"notify: {{webhook: '{told}'}}\n")
    with responses.RequestsMock() as web:
        web.post(told, status=500)
        web.post(told, status=204)
        run_on(house, ticks=1)
        house.clock.time += 60
        errands = house.tick().json["groups"][0]["errands"]
        house.clock.time += 60
        house.tick()
        assert [json.loads(call.request.body)["type"] for call in web.calls] == ["job.finished"] * 2
    assert errands == ["hooks.example was told of job welcome-1"]


def test_answers_are_kept_for_a_day(house):
    submitted(house)
    post(house, "pause", Idempotency_Key="k1")
    house.clock.time += 23 * 3600
    house.tick()
    assert post(house, "resume", Idempotency_Key="k1").status_code == 422
    house.clock.time += 2 * 3600
    house.tick()
    assert post(house, "resume", Idempotency_Key="k1").status_code == 200
