import json
import logging
from shutil import copytree

import pytest

from injector.errors import Misused
from injector.ledger.ports import JobState
from tests.bench import MANIFEST
from tests.house import Away


def finished(house, **options: object):
    """Run a whole job: tick, deliver, tick."""
    house.submit(house.stage(**options))
    house.tick()
    house.dispatch_all()
    house.clock.time += 60
    return house.tick()


def test_a_job_tells_of_what_staging_has_found_before_a_chunk_has_run(house):
    house.submit(house.stage(records=250, bad=[7]))
    job = house.get("/jobs/welcome-1").json
    assert (job["rejected"], job["staged_rejects"]) == (0, 1)


def test_a_job_runs_from_its_submission_to_its_report(house):
    answer = finished(house, records=250, bad=[7])
    assert answer.json["groups"][0]["finished"] == ["welcome-1"]
    job = house.get("/jobs/welcome-1").json
    assert (job["state"], job["records"], job["chunks"]) == ("finished", 250, 3)
    assert (job["created"], job["existed"], job["rejected"], job["settled"]) == (249, 0, 1, 250)
    report = house.get("/jobs/welcome-1/report?all=true").text
    lines = [json.loads(line) for line in report.splitlines()]
    assert [line["ordinal"] for line in lines] == list(range(250))
    assert {line["outcome"] for line in lines[:7] + lines[8:]} == {"created"}
    assert {line["task"] for line in lines if line["task"]} == {
        name for name in house.creator.queues.created if "/injector-" not in name
    }
    (exception,) = house.get("/jobs/welcome-1/report").text.splitlines()
    assert json.loads(exception) == lines[7]
    assert (lines[7]["outcome"], lines[7]["line"], lines[7]["task"]) == ("rejected", 8, "")
    assert lines[7]["reason"]


def test_a_new_job_is_201_and_the_same_again_200(house):
    submission = house.stage()
    first, again = house.submit(submission), house.submit(submission)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.headers["Location"] == "/jobs/welcome-1"
    assert first.json["state"] == again.json["state"] == "running"


def test_an_id_that_is_taken_by_other_content_is_409(house):
    house.submit(house.stage(250))
    answer = house.submit(house.stage(100))
    assert answer.status_code == 409
    assert "welcome-1" in answer.json["detail"]


def without(submission, key):
    return {name: value for name, value in submission.items() if name != key}


WRONG = {
    "not JSON": (lambda _house: b"{", "not a job"),
    "no manifest": (lambda house: without(house.stage(), "manifest"), "manifest"),
    "no staging": (lambda house: without(house.stage(), "staged"), "staged"),
    "more than is asked": (lambda house: house.stage() | {"force": True}, "force"),
    "a deep manifest": (lambda _house: b'{"manifest":' + b"[" * 200_000, "64 levels deep"),
    "an empty manifest": (lambda house: house.stage() | {"manifest": {}}, "job"),
    "an unknown group": (
        lambda house: house.stage(manifest=MANIFEST.replace("welcome\n", "nowhere\n")),
        "there is no group 'nowhere' here; there are welcome",
    ),
    "a store that is not there": (
        lambda house: staged_with(house, store=str(house.folder / "chunks" / "gone")),
        "cannot read the chunks",
    ),
    "a store elsewhere on disk": (
        lambda house: staged_with(house, store=copied(house)),
        "not below this service's store",
    ),
    "a store on the web": (
        lambda house: staged_with(house, store="http://169.254.169.254/computeMetadata/v1"),
        "set --store or INJECTOR_STORE_URL to",
    ),
    "another count": (lambda house: staged_with(house, records=249), "has records 250, not 249"),
    "another digest": (lambda house: staged_with(house, digest="0" * 64), "has digest"),
}


def copied(house):
    """Copy the whole staging out of the store, where it would be as good."""
    return str(copytree(house.stage()["staged"]["store"], house.folder / "elsewhere"))


def staged_with(house, **changes: object):
    submission = house.stage()
    return submission | {"staged": submission["staged"] | changes}


@pytest.mark.parametrize("kind", WRONG)
def test_a_submission_that_cannot_be_is_400_and_says_why(house, kind):
    make, why = WRONG[kind]
    body = make(house)
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = house.ask("POST", "/jobs", data=content)
    assert answer.status_code == 400
    assert why in answer.json["detail"]
    assert house.get("/jobs").json["jobs"] == []


def test_a_submission_over_a_mebibyte_is_413(house):
    assert house.ask("POST", "/jobs", data=b" " * (1024 * 1024 + 1)).status_code == 413


def test_who_submitted_a_job_is_in_its_audit(house):
    house.submit(house.stage())
    (line,) = house.ledger.jobs.audit("welcome-1")
    assert line.who == "ann@p.example"


def test_an_audit_is_listed_page_by_page_newest_first(house):
    house.submit(house.stage())
    for act in ("pause", "resume", "pause"):
        assert house.ask("POST", f"/jobs/welcome-1/{act}").status_code == 200
    seen, after = [], ""
    while after is not None:
        page = house.get(f"/jobs/welcome-1/audit?limit=2&after={after}").json
        seen += [change["new"] for change in page["changes"]]
        after = page["next"]
    assert seen == ["paused", "running", "paused", "running"]


def test_jobs_are_listed_page_by_page_newest_first(house):
    for number in range(5):
        house.submit(house.stage(manifest=MANIFEST.replace("welcome-1", f"job-{number}")))
    seen, after = [], ""
    while after is not None:
        page = house.get(f"/jobs?limit=2&after={after}").json
        seen += [job["id"] for job in page["jobs"]]
        after = page["next"]
    assert seen == [f"job-{number}" for number in (4, 3, 2, 1, 0)]


def test_jobs_are_listed_by_state(house):
    house.submit(house.stage())
    assert house.get("/jobs?state=paused").json["jobs"] == []
    assert len(house.get("/jobs?state=running").json["jobs"]) == 1


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("state=gone", "running, paused"),
        ("limit=0", "limit='0'"),
        ("limit=1001", "from 1 to 1000"),
        ("limit=ten", "limit='ten'"),
        ("limit=٣", "limit"),
        ("limit=" + "9" * 5000, "limit"),
        ("limt=5", "there is no parameter 'limt'; there are state, staging, after, limit"),
    ],
)
def test_a_wrong_query_is_400_and_names_its_range(house, query, why):
    answer = house.get(f"/jobs?{query}")
    assert answer.status_code == 400
    assert why in answer.json["detail"]


@pytest.mark.parametrize(
    "path",
    ["/jobs/other", "/jobs/other/rejects", "/jobs/other/report", "/groups/other", "/nowhere"],
)
def test_what_is_not_there_is_404_as_a_problem(house, path):
    answer = house.get(path)
    assert answer.status_code == 404
    assert answer.content_type == "application/problem+json"
    assert set(answer.json) == {"type", "title", "status", "detail"}


def test_a_wrong_method_is_405_as_a_problem(house):
    answer = house.ask("DELETE", "/jobs")
    assert (answer.status_code, answer.json["status"]) == (405, 405)
    assert "POST" in answer.headers["Allow"]


def test_rejects_are_listed_page_by_page_in_order(house):
    lenient = MANIFEST + "stop_when_rejected: 100%\n"
    finished(house, records=250, bad=[3, 150, 7, 249, 101], manifest=lenient)
    seen, after = [], -1
    while after is not None:
        page = house.get(f"/jobs/welcome-1/rejects?limit=2&after={after}").json
        seen += page["rejects"]
        after = page["next"]
    assert [(reject["ordinal"], reject["line"]) for reject in seen] == [
        (3, 4),
        (7, 8),
        (101, 102),
        (150, 151),
        (249, 250),
    ]
    assert all(reject["reason"] for reject in seen)


def test_a_job_with_too_many_rejects_pauses_itself_and_says_why(house):
    finished(house, records=250, bad=[3, 150, 7, 249, 101])
    job = house.get("/jobs/welcome-1").json
    assert job["state"] == "paused"
    assert "records are rejected, above its limit of 2" in job["reason"]


def test_a_report_of_an_unfinished_job_has_every_record(house):
    house.submit(house.stage(records=250, bad=[120]))
    house.inject({"version": 1, "job": "welcome-1", "chunk": 1})
    report = house.get("/jobs/welcome-1/report?all=true").text
    lines = [json.loads(line) for line in report.splitlines()]
    assert [line["ordinal"] for line in lines] == list(range(250))
    assert [line["outcome"] for line in lines[:100] + lines[200:]] == ["open"] * 150
    assert lines[120]["outcome"] == "rejected"


def test_a_running_job_shows_its_rate_and_its_end(house):
    house.submit(house.stage(records=100_000))
    house.tick()
    job = house.get("/jobs/welcome-1").json
    assert job["rate_allowed"] == 500
    assert job["eta_s"] == pytest.approx(1000 / 5, rel=0.01)
    assert job["ramp"]["unsafe"] is False
    assert job["fed"] == pytest.approx(900, abs=1)


def test_a_paused_job_has_no_rate_and_no_end(house):
    house.submit(house.stage(records=1000))
    house.tick()
    house.ledger.jobs.set_state("welcome-1", JobState.PAUSED, "told to", now=house.clock.now())
    job = house.get("/jobs/welcome-1").json
    assert (job["rate_allowed"], job["eta_s"], job["reason"]) == (0, None, "told to")


def test_jobs_that_share_a_group_show_their_share(house):
    house.submit(house.stage(records=100_000, manifest=MANIFEST + "weight: 3\n"))
    other = MANIFEST.replace("welcome-1", "other")
    house.submit(house.stage(records=100_000, manifest=other))
    house.tick()
    assert house.get("/jobs/welcome-1").json["rate_allowed"] == pytest.approx(375)
    assert house.get("/jobs/other").json["rate_allowed"] == pytest.approx(125)


def test_the_rate_reached_is_measured(house):
    house.submit(house.stage(records=10_000))
    house.tick()
    house.ledger.signals.add("welcome", {"accepted": 30_000}, now=house.clock.now())
    house.clock.time += 60
    assert 200 < house.get("/jobs/welcome-1").json["rate_now"] <= 500


def test_a_group_shows_its_ramp_and_why_it_is_where_it_is(house):
    house.submit(house.stage())
    house.tick()
    group = house.get("/groups/welcome").json
    assert group["rate_allowed"] == 500
    assert group["last_tick"]["reason"] == "begins at 5/s"
    assert group["decisions"][0]["action"] == "start"
    assert group["decisions"][0]["evidence"]["creates"] == 0
    assert group["jobs"] == ["welcome-1"]
    assert house.get("/groups").json["groups"][0]["name"] == "welcome"


def test_a_job_whose_group_cannot_be_fed_says_why(house):
    house.submit(house.stage())
    for name in [name for name in house.creator.queues.queues if "injector" in name]:
        del house.creator.queues.queues[name]
    house.tick()
    assert "injector-0" in house.get("/jobs/welcome-1").json["fault"]
    assert "injector-0" in house.get("/groups/welcome").json["last_tick"]["fault"]


def test_a_tick_answers_with_what_it_did(house):
    house.submit(house.stage())
    answer = house.tick()
    (group,) = answer.json["groups"]
    assert (answer.json["status"], group["group"], group["fed"]) == ("ticked", "welcome", 3)


def test_a_tick_beside_another_says_so_and_does_nothing(house):
    house.submit(house.stage())
    house.ledger.leases.acquire("tick", "another", now=house.clock.now(), ttl_s=60)
    assert house.tick().json == {"status": "busy", "groups": []}


def test_security_headers_are_on_every_answer(house):
    for path in ("/jobs", "/nowhere"):
        headers = house.get(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["/jobs", "/jobs/x", "/groups/welcome"])
def test_a_ledger_that_is_away_is_503_with_when_to_ask_again(house, path):
    house.ledger = Away()
    answer = house.get(path)
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1


def test_a_service_whose_ledger_is_away_is_alive_but_not_ready(house):
    house.ledger = Away()
    client = house.app.test_client()
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503


def test_metrics_count_what_was_done(house):
    finished(house, records=250, bad=[7])
    shown = house.get("/metrics").text
    assert 'injector_records_total{outcome="created"} 249.0' in shown
    assert 'injector_records_total{outcome="rejected"} 1.0' in shown
    assert 'injector_fed_chunks_total{again="no",group="welcome"} 3.0' in shown
    assert 'injector_requests_total{route="/jobs",status="201"} 1.0' in shown


class Locked(Away):
    """A ledger that does not let this service in."""

    def ping(self):
        raise Misused("the ledger postgresql://i@/l refuses this user; look at its password")


def test_a_ledger_that_refuses_the_service_is_told_apart_and_its_address_only_logged(house, caplog):
    house.ledger = Locked()
    with caplog.at_level(logging.ERROR, "injector"):
        answer = house.app.test_client().get("/readyz")
    assert answer.status_code == 503
    assert "cannot be used as it is set up" in answer.json["detail"]
    assert "postgresql" not in answer.text
    (record,) = caplog.records
    assert (record.event, "refuses this user" in record.fields["why"]) == ("ledger.unusable", True)
