"""Jobs that share a rate, whose records are sent again, and whose tasks are taken back."""

from dataclasses import dataclass, replace

import pytest

from injector.ledger.ports import JobState, Receipt, TakeBacks
from tests.bench import MANIFEST
from tests.steered import LENIENT, job_of, patch, post, run_on, submitted, user_tasks


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


@dataclass
class Overtaken:
    """Take-backs of a ledger of which somebody else is quicker to note the first pages."""

    takebacks: TakeBacks
    times: int

    def advance(self, found, **ended: int) -> bool:
        self.times -= 1
        return self.times < 0 and self.takebacks.advance(found, **ended)

    def __getattr__(self, name: str) -> object:
        return getattr(self.takebacks, name)


def test_taking_back_goes_on_where_it_was_cut_off_and_counts_the_same(house):
    overtaken = Overtaken(house.ledger.takebacks, times=1)
    house.ledger = replace(house.ledger, takebacks=overtaken)
    submitted(house, 12_000)
    house.tick()
    house.dispatch_all()
    post(house, "cancel", {"take_back": True})
    house.clock.time += 60
    house.tick()
    shown = job_of(house)["taken_back"]
    assert overtaken.times < 0
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
