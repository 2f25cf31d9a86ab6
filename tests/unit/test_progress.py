from dataclasses import replace

import pytest

from injector.control.memory import Memory
from injector.control.progress import group_pace, measured_from, progress, why
from injector.control.ramp_state import RampState
from injector.ledger.ports import Job, JobState, Minute
from injector.pacing.ramp import Ramp

NOW = 1_000_000.0
JOB = Job(
    id="a",
    group="g",
    manifest_json="{}",
    store="s",
    records=1_000_000,
    chunks=10_000,
    digest="d",
    rejected=0,
    weight=1.0,
    priority=0,
    max_rate=None,
    parent="",
    state=JobState.RUNNING,
    reason="",
    cursor=0,
    version=1,
    registered_at=NOW,
    started_at=NOW,
    finished_at=None,
)
FLAT = Ramp(growth=1.0)


def pace_of(rate=5.0, ramp=FLAT, minutes=()):
    return group_pace(Memory(ramp=RampState(rate=rate)), ramp, minutes, now=NOW)


def test_the_end_follows_the_ramp():
    flat = progress(JOB, 3000, pace_of(), [JOB], now=NOW)
    climbing = progress(JOB, 3000, pace_of(ramp=Ramp()), [JOB], now=NOW)
    assert flat.eta_s == pytest.approx(600)
    assert climbing.eta_s == pytest.approx(300 + 1500 / 7.5)


def test_the_end_counts_from_where_the_ramp_is():
    memory = Memory(ramp=RampState(rate=5.0, elapsed_s=200))
    pace = group_pace(memory, Ramp(), (), now=NOW)
    assert progress(JOB, 1250, pace, [JOB], now=NOW).eta_s == pytest.approx(100 + 100)


def test_a_job_gets_its_share_by_weight():
    other = replace(JOB, id="b", weight=3.0)
    shown = progress(JOB, 100, pace_of(), [JOB, other], now=NOW)
    assert shown.rate_allowed == pytest.approx(500 / 4)


def test_a_job_behind_a_more_urgent_one_stands_still():
    urgent = replace(JOB, id="b", priority=9)
    shown = progress(JOB, 100, pace_of(), [urgent, JOB], now=NOW)
    assert (shown.rate_allowed, shown.eta_s) == (0, None)


def test_a_job_whose_last_chunks_are_fed_takes_nothing_from_the_others():
    fed = replace(JOB, id="b", cursor=10_000)
    assert progress(JOB, 100, pace_of(), [JOB, fed], now=NOW).rate_allowed == pytest.approx(500)


@pytest.mark.parametrize(
    ("changes", "rivals", "words"),
    [
        ({}, (), "healthy"),
        ({"state": JobState.PAUSED}, (), "it is paused, and nothing more is begun until"),
        ({"state": JobState.FINISHED}, (), ""),
        ({"max_rate": 2.5}, (), "its own limit is 250 creates/s; its group may do 500 creates/s"),
        ({"max_rate": 7.0}, (), "healthy"),
        ({}, ({"priority": 9},), "jobs of a higher priority take all of the group's 500 creates/s"),
        ({}, ({"weight": 3.0},), "it has 25% of the group's 500 creates/s, beside other jobs; he"),
    ],
)
def test_what_sets_a_jobs_pace_is_said(changes, rivals, words):
    job = replace(JOB, **changes)
    others = [replace(JOB, id=f"b{n}", **rival) for n, rival in enumerate(rivals)]
    said = why(job, pace_of(), [job, *others], said="healthy")
    assert said.startswith(words)
    assert bool(said) == bool(words)


def test_a_job_of_a_group_without_a_rate_is_told_what_the_last_tick_said():
    assert why(JOB, pace_of(rate=0.0), [JOB], said="nothing to feed") == "nothing to feed"


def test_a_jobs_own_limit_shows():
    slow = replace(JOB, max_rate=1.0)
    assert progress(slow, 100, pace_of(), [slow], now=NOW).rate_allowed == pytest.approx(100)


def test_a_limited_job_ends_no_sooner_than_its_limit_lets_it_and_shows_what_it_really_does():
    limited = replace(JOB, max_rate=0.01)
    minutes = (Minute(int(NOW // 60 * 60), {"accepted": 120}),)
    shown = progress(limited, 41, pace_of(ramp=Ramp(), minutes=minutes), [limited], now=NOW)
    assert shown.eta_s == pytest.approx(4100)
    assert shown.rate_now == pytest.approx(pace_of(minutes=minutes).rate_now)


@pytest.mark.parametrize("state", set(JobState) - {JobState.RUNNING})
def test_only_a_running_job_has_an_end(state):
    job = replace(JOB, state=state)
    assert progress(job, 100, pace_of(), [job], now=NOW).eta_s is None


def test_a_group_that_never_ran_has_no_pace():
    shown = progress(JOB, 100, pace_of(rate=0.0), [JOB], now=NOW)
    assert (shown.rate_now, shown.rate_allowed, shown.eta_s) == (None, None, None)


def test_the_rate_reached_is_that_of_the_last_whole_minute_and_this_one():
    begin = measured_from(NOW)
    minutes = [Minute(begin, {"accepted": 30_000}), Minute(begin + 60, {"accepted": 6_000})]
    assert pace_of(minutes=minutes).rate_now == pytest.approx(36_000 / (NOW - begin))
    assert 60 <= NOW - begin < 120
