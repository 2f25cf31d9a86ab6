"""A queue that takes nothing, as the service and the command line tell of it."""

import pytest

from injector.cli.job_view import describe, waits_for
from injector.control.memory import Memory
from injector.fan_out import Verdict
from injector.ledger.ports import JobState
from tests.cli_samples import JOB

SICK = "welcome-1"


def one_is_sick(house):
    """Deliver a chunk, of which the records of one queue are not taken; return the answer."""
    house.creator.fault = lambda create: "UNAVAILABLE" if create.queue.endswith(SICK) else ""
    house.creator.sick = lambda _create: True
    house.submit(house.stage(100))
    house.tick()
    (answer,) = house.dispatch_all()
    return answer


def test_a_delivery_whose_rest_waits_is_acknowledged_and_says_so(house):
    answer = one_is_sick(house)
    assert (answer.status_code, answer.json["status"]) == (200, Verdict.WAITING.value)
    assert 0 < answer.json["created"] < 100
    assert 'injector_deliveries_total{answer="waiting"} 1.0' in house.get("/metrics").text


def test_a_job_says_how_many_chunks_wait_for_which_queue_and_since_when(house):
    one_is_sick(house)
    assert house.get("/jobs/welcome-1").json["waiting"] == 1
    house.clock.time += 60
    house.tick()
    (sick,) = house.get("/groups/welcome").json["sick"]
    assert sick["queue"].endswith(SICK)
    assert sick["code"] == "UNAVAILABLE"
    assert sick["since"] <= sick["seen"] <= house.clock.time
    house.dispatch_all()
    job = house.get("/jobs/welcome-1").json
    assert (job["state"], job["waiting"], job["waits_for"]) == ("running", 1, [sick])


FED, HELD = "<dt>waiting</dt><dd>{} <small>chunks", "<dt>waiting for {}</dt><dd>1 <small>chunks"
PAGES = pytest.mark.parametrize("page", ["/dashboard/jobs/welcome-1", "/dashboard/groups/welcome"])


@PAGES
def test_a_page_tells_what_waits_for_a_queue_from_what_is_in_the_injector_queues(house, page):
    one_is_sick(house)
    text = house.get(page).text
    assert FED.format(0) in text
    assert HELD.format("queues") in text
    assert house.get("/dashboard/groups/welcome/minutes").json["waiting"] == 0


@PAGES
def test_a_page_counts_the_queues_that_are_waited_for(house, page):
    one_is_sick(house)
    house.clock.time += 60
    house.tick()
    house.dispatch_all()
    assert HELD.format("1 queue") in house.get(page).text


@PAGES
def test_a_page_of_what_only_is_fed_has_no_word_of_queues_waited_for(house, page):
    house.submit(house.stage(100))
    house.tick()
    text = house.get(page).text
    assert FED.format(1) in text
    assert "waiting for" not in text


def test_what_waits_is_described_with_its_queue():
    sick = {"queue": "q-1", "since": 1_800_000_000.0, "seen": 1_800_000_060.0, "code": "NOT_FOUND"}
    job = JOB | {"waiting": 1200, "waits_for": [sick]}
    said = describe(job)["waiting"]
    assert said.startswith("1,200 chunks: q-1 takes nothing since ")
    assert said.endswith("(NOT_FOUND)")
    assert waits_for(job) == said
    assert "waiting" not in describe(JOB | {"waiting": 0, "waits_for": []})


def test_a_queue_that_is_waited_for_and_was_not_seen_to_refuse_is_not_called_sick(house):
    one_is_sick(house)
    for minute in house.ledger.signals.since("welcome", 0):
        house.ledger.signals.forget(before=minute.at + 60)
    house.tick()
    job = house.get("/jobs/welcome-1").json
    (known,) = Memory.from_json(house.ledger.groups.state("welcome").ramp_json).sick
    assert (known.code, job["waits_for"]) == ("", [])


def test_a_cancelled_job_waits_for_nothing(house):
    one_is_sick(house)
    house.clock.time += 60
    house.tick()
    house.dispatch_all()
    job = house.get("/jobs/welcome-1").json
    assert job["waits_for"]
    house.ledger.jobs.set_state("welcome-1", JobState.CANCELLED, "", now=house.clock.time)
    job = house.get("/jobs/welcome-1").json
    assert (job["state"], job["waiting"], job["waits_for"]) == ("cancelled", 0, [])
    assert "waiting" not in house.get("/dashboard/jobs/welcome-1").text
