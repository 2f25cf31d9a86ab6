import gzip
import json
import logging

import pytest

from handlers.metrics import count_signals
from injector.ledger.ports import JobState
from injector.pacing.signals import Signals
from tests.house import QUEUE, Away

TASK = {"version": 1, "job": "welcome-1", "chunk": 0, "generation": 0}


@pytest.fixture
def ready(house):
    """A service with a job of 250 records."""
    house.submit(house.stage())
    return house


def events(caplog, name):
    return [record for record in caplog.records if getattr(record, "event", "") == name]


def test_a_delivered_chunk_is_settled(ready):
    answer = ready.inject(TASK)
    assert answer.status_code == 200
    assert answer.json == {
        "status": "settled",
        "reason": "",
        "created": 100,
        "existed": 0,
        "rejected": 0,
    }
    assert ready.ledger.jobs.totals("welcome-1").created == 100


TYPES = [
    "application/json",
    "text/plain",
    "application/octet-stream",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=latin-1",
    "rubbish",
    None,
]


@pytest.mark.parametrize("kind", TYPES)
def test_a_body_is_read_whatever_type_it_claims(ready, kind):
    assert ready.inject(TASK, content_type=kind).json["status"] == "settled"


@pytest.mark.parametrize("encoding", ["gzip", "identity", "br"])
def test_a_body_is_read_whatever_encoding_it_claims(ready, encoding):
    answer = ready.inject(TASK, headers={"Content-Encoding": encoding})
    assert answer.json["status"] == "settled"


REFUSED = {
    "nothing": b"",
    "not JSON": b"{",
    "not an object": b"[]",
    "not UTF-8": b'{"job":"\xff\xfe"}',
    "really compressed": gzip.compress(json.dumps(TASK).encode()),
    "another version": json.dumps(TASK | {"version": 2}).encode(),
    "no job": json.dumps({"version": 1, "chunk": 0}).encode(),
    "an unknown job": json.dumps(TASK | {"job": "other"}).encode(),
    "a job that is no text": json.dumps(TASK | {"job": 5}).encode(),
    "a NUL in the job": json.dumps(TASK | {"job": "a\0b"}).encode(),
    "a chunk beyond the last": json.dumps(TASK | {"chunk": 3}).encode(),
    "a huge chunk": json.dumps(TASK | {"chunk": 10**30}).encode(),
    "a chunk below 0": json.dumps(TASK | {"chunk": -1}).encode(),
    "half a chunk": json.dumps(TASK | {"chunk": 0.5}).encode(),
    "deep nesting": b"[" * 50_000,
    "too long": b" " * (64 * 1024) + json.dumps(TASK).encode(),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_can_never_succeed_is_logged_and_not_sent_again(ready, kind, caplog):
    with caplog.at_level(logging.ERROR, "injector"):
        answer = ready.inject(REFUSED[kind])
    assert answer.status_code == 200
    assert answer.json["status"] == "rejected"
    (record,) = events(caplog, "delivery.rejected")
    assert record.fields["why"] == answer.json["reason"]
    assert ready.creator.asked == []


def test_a_refused_body_is_never_logged(ready, caplog):
    ready.inject(b'{"job": "secret-of-a-customer", "chunk": "secret-too"}')
    assert "secret" not in caplog.text


def test_metrics_tell_refused_deliveries_from_those_to_be_repeated(ready):
    ready.inject(b"{")
    ready.creator.fault = lambda _create: "UNAVAILABLE"
    ready.inject(TASK)
    shown = ready.get("/metrics").text
    assert 'injector_deliveries_total{answer="rejected"} 1.0' in shown
    assert 'injector_deliveries_total{answer="retry"} 1.0' in shown


def test_metrics_show_how_the_service_fared(ready):
    ready.creator.fault = lambda create: "UNAVAILABLE" if create.url.endswith("9") else ""
    ready.inject(TASK)
    shown = ready.get("/metrics").text
    assert 'injector_creates_total{end="accepted"} 90.0' in shown
    assert 'injector_creates_total{end="UNAVAILABLE"} 10.0' in shown


def test_metrics_show_what_hedges_did(ready):
    with ready.app.app_context():
        count_signals(Signals(hedges_sent=3, hedges_won=1, hedges_cancelled=2))
    shown = ready.get("/metrics").text
    for end, number in (("sent", 3), ("won", 1)):
        assert f'injector_hedges_total{{end="{end}"}} {number}.0' in shown
    assert "injector_attempts_cancelled_total 2.0" in shown
    assert 'injector_hedges_total{end="cancelled"}' not in shown


def test_metrics_show_how_many_tokens_are_left_for_hedges(ready):
    ready.inject(TASK)
    assert "injector_hedge_tokens{" not in ready.get("/metrics").text
    ready.creator.tokens = 4.3
    ready.inject(TASK | {"chunk": 1})
    assert 'injector_hedge_tokens{group="welcome"} 4.3' in ready.get("/metrics").text


def test_an_unsettled_chunk_is_handed_back_with_what_is_settled_kept(ready):
    ready.creator.fault = lambda create: "UNAVAILABLE" if create.url.endswith("9") else ""
    answer = ready.inject(TASK)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert "10 of 100 records are not taken yet: UNAVAILABLE" in answer.json["detail"]
    assert ready.ledger.jobs.totals("welcome-1").created == 90


def test_a_job_with_a_missing_queue_pauses_and_its_chunk_is_not_sent_again(ready):
    ready.creator.fault = lambda _create: "FAILED_PRECONDITION"
    answer = ready.inject(TASK)
    assert (answer.status_code, answer.json["status"]) == (200, "parked")
    assert ready.get("/jobs/welcome-1").json["state"] == "paused"
    assert "projects/p/locations/l/queues/welcome-" in ready.get("/jobs/welcome-1").json["reason"]


def test_a_paused_jobs_chunk_is_acknowledged_and_fed_again_after_it_resumes(ready):
    ready.tick()
    ready.ledger.jobs.set_state("welcome-1", JobState.PAUSED, "", now=ready.clock.now())
    assert {answer.json["status"] for answer in ready.dispatch_all()} == {"parked"}
    ready.clock.time += 30
    ready.ledger.jobs.set_state("welcome-1", JobState.RUNNING, "", now=ready.clock.now())
    assert ready.tick().json["groups"][0]["refed"] == 3
    assert {answer.json["status"] for answer in ready.dispatch_all()} == {"settled"}


def test_a_chunk_that_is_gone_from_the_store_stops_its_job(ready):
    for file in (ready.folder / "chunks").rglob("*"):
        if file.is_file():
            file.unlink()
    answer = ready.inject(TASK)
    assert (answer.status_code, answer.json["status"]) == (200, "rejected")
    assert ready.ledger.jobs.get("welcome-1").state is JobState.PAUSED


def test_a_ledger_that_is_away_hands_the_chunk_back(house):
    house.ledger = Away()
    answer = house.inject(TASK)
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) >= 1


def test_an_error_of_our_own_is_logged_with_its_place_and_not_shown(ready, caplog):
    def broken(_create):
        raise ZeroDivisionError("secret")

    ready.creator.fault = broken
    answer = ready.inject(TASK)
    assert answer.status_code == 500
    assert "secret" not in answer.text
    (record,) = events(caplog, "request.failed")
    assert record.exc_info[0] is ZeroDivisionError


def test_a_settled_chunk_is_logged_with_its_counts(ready, caplog):
    with caplog.at_level(logging.INFO, "injector"):
        ready.inject(TASK)
    (record,) = events(caplog, "chunk.settled")
    assert record.fields["job"] == "welcome-1"
    assert record.fields["created"] == 100


def test_a_process_that_is_ending_takes_no_more_chunks(ready):
    ready.app.extensions["drain"].begin()
    assert ready.inject(TASK).status_code == 503
    assert ready.tick().status_code == 503
    paths = ("/ready", "/readyz", "/health", "/healthz")
    statuses = [ready.app.test_client().get(path).status_code for path in paths]
    assert statuses == [503, 503, 200, 200]
    assert ready.creator.asked == []


def test_only_posts_are_deliveries(ready):
    assert ready.ask("GET", "/inject", email=QUEUE).status_code in {403, 405}
