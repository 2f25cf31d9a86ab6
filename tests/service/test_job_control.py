"""Jobs under way, steered through the API."""

import json

import pytest
import responses

from injector.ledger.ports import JobState, Receipt
from tests.bench import MANIFEST
from tests.house import PERSON, QUEUE

LENIENT = MANIFEST + "stop_when_rejected: 100%\n"


def submitted(house, records=250, **options: object):
    assert house.submit(house.stage(records, **options)).status_code == 201
    return house


def post(house, act, body=None, job="welcome-1", **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return house.ask("POST", f"/jobs/{job}/{act}", json=body, headers=named)


def patch(house, body, job="welcome-1", **headers: str):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return house.ask("PATCH", f"/jobs/{job}", json=body, headers=named)


def job_of(house, job="welcome-1"):
    return house.get(f"/jobs/{job}").json


def audit_of(house, job="welcome-1"):
    return house.get(f"/jobs/{job}/audit").json["changes"]


def user_tasks(house):
    return [name for name in house.creator.queues.created if "/injector-" not in name]


def run_on(house, ticks=8):
    """Tick and dispatch until all that can happen has happened."""
    for _ in range(ticks):
        house.tick()
        house.dispatch_all()
        house.clock.time += 60
    house.tick()


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
        ("max_rate", "None", "10.0"),
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


def settle_fed(house, *names: str):
    """Let every chunk that was fed and has no receipt be created as a whole."""
    for name in names:
        totals = house.ledger.jobs.totals(name)
        for chunk in range(totals.chunks_settled, totals.fed):
            whole = Receipt(name, chunk, 100, created_mask=(1 << 100) - 1)
            house.ledger.receipts.merge(whole, now=house.clock.now())


def created_in(house, minutes, *names: str):
    """Return how many tasks of each job are created in so many minutes."""
    before = [house.ledger.jobs.totals(name).created for name in names]
    for _ in range(minutes):
        house.tick()
        settle_fed(house, *names)
        house.clock.time += 60
    after = [house.ledger.jobs.totals(name).created for name in names]
    return [now - was for now, was in zip(after, before, strict=True)]


def test_two_jobs_at_three_to_one_share_the_rate_so_and_at_even_after_a_change(house):
    submitted(house, 200_000, manifest=MANIFEST + "weight: 3\n")
    submitted(house, 200_000, manifest=MANIFEST.replace("welcome-1", "other"))
    first, second = created_in(house, 3, "welcome-1", "other")
    assert first / (first + second) == pytest.approx(0.75, rel=0.05)
    patch(house, {"weight": 1})
    first, second = created_in(house, 2, "welcome-1", "other")
    assert first / (first + second) == pytest.approx(0.5, rel=0.05)


def test_a_higher_priority_goes_first(house):
    submitted(house, 100_000)
    submitted(house, 100_000, manifest=MANIFEST.replace("welcome-1", "urgent"))
    patch(house, {"priority": 5}, job="urgent")
    house.tick()
    assert (job_of(house)["fed"], job_of(house, "urgent")["fed"] > 800) == (0, True)


def test_a_job_that_stopped_for_its_rejects_stops_again_only_past_a_new_limit(house):
    submitted(house, 1000, bad=[*range(20), *range(300, 330), *range(600, 640)])
    for chunk in (0, 3):
        house.inject({"version": 1, "job": "welcome-1", "chunk": chunk})
    assert "above its limit of 10" in job_of(house)["reason"]
    patch(house, {"stop_when_rejected": "60"})
    post(house, "resume")
    house.inject({"version": 1, "job": "welcome-1", "chunk": 3})
    assert job_of(house)["state"] == "running"
    house.inject({"version": 1, "job": "welcome-1", "chunk": 6})
    assert "90 of 1000 records are rejected, above its limit of 60" in job_of(house)["reason"]


def test_rejects_are_sent_again_and_nothing_else_is(house):
    refused = {"n": True}
    house.creator.fault = lambda create: "INVALID_ARGUMENT" if refused and "7" in create.url else ""
    submitted(house, 250, manifest=LENIENT)
    run_on(house, ticks=1)
    finished = job_of(house)
    assert (finished["state"], finished["rejected"]) == ("finished", 43)
    asked = len(house.creator.asked)
    refused.clear()
    answer = post(house, "redrive")
    assert (answer.json["opened"], answer.json["job"]["state"]) == (43, "running")
    assert answer.json["job"]["rejected"] == 0
    run_on(house, ticks=2)
    job = job_of(house)
    assert (job["state"], job["created"], job["rejected"]) == ("finished", 250, 0)
    assert len(house.creator.asked) - asked == 43
    assert house.get("/jobs/welcome-1/rejects").json["rejects"] == []


def test_a_redrive_whose_records_are_refused_again_lists_them_again(house):
    submitted(house, 250, bad=[3, 120], manifest=LENIENT)
    run_on(house, ticks=1)
    post(house, "redrive")
    run_on(house, ticks=2)
    post(house, "redrive")
    run_on(house, ticks=2)
    job = job_of(house)
    assert (job["state"], job["created"], job["rejected"], job["redrives"]) == (
        "finished",
        248,
        2,
        2,
    )


def test_a_retry_feeds_at_once_what_has_no_receipt(house):
    submitted(house)
    house.tick()
    house.clock.time += 60
    house.tick()
    names = set(house.creator.queues.created)
    post(house, "retry")
    house.tick()
    again = set(house.creator.queues.created) - names
    assert len(again) == 3
    assert all(name.endswith("-1") for name in again)


def test_a_failed_job_goes_on_after_a_retry(house):
    submitted(house)
    now = house.clock.now()
    house.ledger.jobs.set_state("welcome-1", JobState.FAILED, "out of luck", now=now)
    assert post(house, "retry").json["state"] == "running"
    run_on(house, ticks=2)
    assert job_of(house)["state"] == "finished"


def test_waiting_tasks_of_a_cancelled_job_are_taken_back_and_counted(house):
    submitted(house, 2500, bad=[7], manifest=LENIENT)
    house.tick()
    house.dispatch_all()
    ran = sorted(user_tasks(house))[:100]
    for name in ran:
        del house.creator.queues.created[name]
    shown = post(house, "cancel", {"take_back": True}).json
    assert (shown["state"], shown["taken_back"]["done"]) == ("cancelled", False)
    assert house.tick().json["groups"][0]["errands"] == []
    house.clock.time += 60
    house.tick()
    assert user_tasks(house) == []
    assert job_of(house)["taken_back"] == {
        "deleted": 2399,
        "gone": 100,
        "chunks_done": 25,
        "chunks": 25,
        "done": True,
    }


def test_taking_back_goes_on_where_it_was_cut_off_and_counts_the_same(house):
    submitted(house, 12_000)
    house.tick()
    house.dispatch_all()
    post(house, "cancel", {"take_back": True})
    house.clock.time += 60
    advance, house.cut = type(house.ledger.takebacks).advance, 1

    def cut_off(*given: object, **named: object):
        raise_once = house.cut
        house.cut = 0
        return False if raise_once else advance(*given, **named)

    with pytest.MonkeyPatch.context() as patch_:
        patch_.setattr(type(house.ledger.takebacks), "advance", cut_off)
        house.tick()
    shown = job_of(house)["taken_back"]
    assert (shown["deleted"], shown["gone"], shown["done"]) == (12_000, 0, True)
    assert user_tasks(house) == []


def test_tasks_are_taken_back_no_faster_than_the_group_may_create(house):
    submitted(house, 12_000)
    house.tick()
    house.dispatch_all()
    post(house, "cancel", {"take_back": True})
    house.clock.time += 60
    began = house.clock.time
    house.tick()
    assert 12_000 / (house.clock.time - began) <= 500 * 1.01


def test_tasks_of_a_job_that_runs_are_not_taken_back(house):
    submitted(house)
    answer = post(house, "pause", {"take_back": True})
    assert answer.status_code == 400
    assert job_of(house)["state"] == "running"


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
