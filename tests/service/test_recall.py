"""What was fed ahead goes back when its job is to go slower, and comes again at the new pace."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from injector.control.feed import LATE_S
from injector.control.recall import slower
from injector.injector_task import parse_injector_task
from injector.ledger.ports import Job, JobState, Tuning
from tests.service.fed import NOW, gaps
from tests.steered import job_of, patch, post, submitted, user_tasks


def fed_of(house, job="welcome-1"):
    """Return when the job's injector tasks are due, by generation."""
    found = {}
    for create in house.creator.queues.created.values():
        if "/injector-" in create.queue:
            task = parse_injector_task(create.body)
            if task.job == job:
                found.setdefault(task.generation, []).append(create.schedule_time)
    return {generation: sorted(dues) for generation, dues in found.items()}


def test_a_lower_limit_stops_what_was_fed_at_once_and_feeds_it_again_evenly(house, caplog):
    submitted(house, 250_000)
    house.tick()
    assert len(fed_of(house)[0]) == pytest.approx(900, abs=1)
    patch(house, {"max_rate": 100})
    with caplog.at_level("INFO", "injector"):
        answers = [house.inject(body) for body in first_bodies(house, 3)]
    assert [answer.json["status"] for answer in answers] == ["recalled"] * 3
    told = [each for each in caplog.records if "chunk.recalled" in each.getMessage()]
    assert [each.levelname for each in told] == ["INFO"] * 3
    assert user_tasks(house) == []
    house.clock.time += 20
    house.tick()
    old, new = fed_of(house).values()
    assert len(old) == pytest.approx(900, abs=1)
    assert len(new) == pytest.approx(180, abs=4)
    assert new[0] == pytest.approx(house.clock.time, abs=1.5)
    assert max(gaps(new)) < 2
    house.clock.time += 60
    house.tick()
    assert len(fed_of(house)[2]) == pytest.approx(240, abs=4)


def first_bodies(house, count):
    waiting = [c for c in house.creator.queues.created.values() if "/injector-" in c.queue]
    return [create.body for create in sorted(waiting, key=lambda c: c.schedule_time)[:count]]


def test_a_job_that_was_recalled_ends_with_every_record_once(house):
    submitted(house)
    house.tick()
    patch(house, {"max_rate": 100})
    house.tick()
    house.dispatch_all()
    house.clock.time += 60
    house.tick()
    job = job_of(house)
    assert (job["state"], job["created"], job["existed"]) == ("finished", 250, 0)
    assert len(user_tasks(house)) == 250


@pytest.mark.parametrize("change", [{"max_rate": None}, {"weight": 0.5}, {"priority": -3}])
def test_what_makes_no_job_slower_recalls_nothing(house, change):
    submitted(house)
    patch(house, {"max_rate": 200_000})
    generation = house.ledger.jobs.get("welcome-1").generation
    house.tick()
    patch(house, change)
    assert house.ledger.jobs.get("welcome-1").generation == generation
    assert house.dispatch_all()[0].json["status"] == "settled"


def test_a_job_that_is_given_precedence_has_the_next_tick_and_the_others_wait(field_of):
    ground = field_of()
    ground.add("first")
    ground.add("urgent")
    ground.feed()
    urgent = Tuning(priority=1)
    ground.ledger.jobs.tune("urgent", urgent, now=NOW, recall=["first"])
    ground.feed(now=NOW + 30)
    dues = ground.dues_of("urgent")
    assert len(dues) == pytest.approx(180 * 5, abs=2)
    assert max(gaps(dues)) < 0.6 + 0.01
    assert {task.generation for task in ground.tasks if task.job == "first"} == {0}


def test_shares_that_change_while_fed_hold_from_the_next_feed(field_of):
    ground = field_of()
    ground.add("more")
    ground.add("less")
    ground.feed()
    ground.ledger.jobs.tune("more", Tuning(weight=3.0), now=NOW, recall=["less"])
    ground.feed(now=NOW + 1)
    counts = Counter(
        task.job for task in ground.tasks if (task.job, task.generation) != ("less", 0)
    )
    assert counts["more"] == pytest.approx(0.75 * 905, rel=0.03)
    assert counts["less"] == pytest.approx(0.25 * 905, rel=0.03)


def test_feeds_after_a_recall_go_on_as_before(field_of):
    ground = field_of()
    ground.add()
    ground.feed()
    ground.ledger.jobs.tune("job", Tuning(max_rate=1.0), now=NOW, recall=["job"])
    first = ground.feed(now=NOW + 10)
    assert first.fed + first.refed == pytest.approx(180, abs=4)
    assert ground.feed(now=NOW + 11).refed <= 3
    again = ground.feed(now=NOW + 70)
    assert again.fed + again.refed == pytest.approx(60, abs=4)


def test_a_recall_while_a_feed_is_under_way_reaches_what_that_feed_notes(field_of):
    ground = field_of(batch=100)
    ground.add(chunks=1000)
    recalls = iter([True])

    def time_left():
        if next(recalls, False):
            ground.ledger.jobs.recall("job", 0)
        return 45.0

    ground.feed(time_left=time_left)
    job = ground.ledger.jobs.get("job")
    lost = ground.ledger.jobs.overdue("job", before=NOW, limit=10_000)
    assert sum(each.past - each.first for each in lost) == job.cursor > 100
    assert {each.generation for each in lost} == {job.generation}


def test_late_tasks_of_a_job_with_a_limit_are_recalled_once_and_fed_again_at_it(house):
    submitted(house, 250_000)
    patch(house, {"max_rate": 100})
    house.tick()
    house.clock.time += LATE_S + 1
    late, *others = first_bodies(house, 3)
    assert house.inject(late).json["status"] == "recalled"
    assert [house.inject(body).json["status"] for body in others] == ["recalled"] * 2
    house.tick()
    new = fed_of(house)
    assert len(new[max(new)]) == pytest.approx(180, abs=4)
    again = [c for c in house.creator.queues.created.values() if c.schedule_time in new[max(new)]]
    house.clock.time += 10 * LATE_S
    assert house.inject(again[0].body).json["status"] == "settled"


def test_late_tasks_of_a_job_without_a_limit_are_done(house):
    submitted(house)
    house.tick()
    house.clock.time += 10 * LATE_S
    assert house.inject(first_bodies(house, 1)[0]).json["status"] == "settled"


def test_a_task_of_an_earlier_version_is_done(house):
    submitted(house)
    house.tick()
    old = json.dumps({"version": 1, "job": "welcome-1", "chunk": 0, "generation": 0}).encode()
    assert house.inject(old).json["status"] == "settled"


def job(name="a", *, state=JobState.RUNNING, **tuned: object):
    usual = {"weight": 1.0, "priority": 0, "max_rate": None} | tuned
    return Job(
        name, "g", "{}", "s", 1, 1, "d", 0, **usual, parent="", state=state, reason="", cursor=0,
        version=1, registered_at=0.0, started_at=None, finished_at=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"max_rate": 1.0}, {"a"}),
        ({"max_rate": 3.0}, set()),
        ({"max_rate": None}, set()),
        ({"weight": 2.0}, {"same"}),
        ({"weight": 0.5}, {"a"}),
        ({"priority": 1}, {"same", "above"}),
        ({"priority": 5}, {"same", "above"}),
        ({"priority": -1}, {"a"}),
        ({"rejects_allowed": 1}, set()),
    ],
)
def test_slower_are_those_that_a_limit_or_a_rank_slows(change, found):
    own = job(max_rate=2.0)
    others = [
        job("same"),
        job("above", priority=1),
        job("below", priority=-9),
        job("paused", state=JobState.PAUSED),
    ]
    tuning = replace(own.tuning, **change)
    assert slower(own, tuning, [own, *others]) == found


def test_alone_in_its_group_a_job_loses_by_nothing_but_a_limit():
    own = job()
    assert slower(own, Tuning(weight=0.1, priority=-5), [own]) == frozenset()
    assert slower(own, Tuning(max_rate=5.0), [own]) == {"a"}


def test_a_paused_job_that_is_tuned_keeps_its_new_limit_when_it_goes_on(house):
    submitted(house, 250_000)
    house.tick()
    post(house, "pause")
    patch(house, {"max_rate": 100})
    post(house, "resume")
    house.clock.time += 5
    house.tick()
    assert len(fed_of(house)[2]) == pytest.approx(180, abs=4)
