"""A diagnosis over the emulator in virtual time: what is staged is named, and nothing else."""

import pytest

from injector.queues.diagnosis import Cause, Confidence, diagnose
from injector.queues.gathering import LOGS_OFF, gather, look_back
from tests.pace.staged_cases import cases
from tests.pace.staged_queues import MINUTE_S, START, staged

CASES = {case.name: case for case in cases()}


def diagnosed(name):
    """Run a case and return its evidence and its diagnosis."""
    with staged(CASES[name]) as queues:
        queues.run()
        evidence = gather(queues.names, queues.sources, now=queues.now)
    return evidence, diagnose(evidence)


@pytest.mark.parametrize("name", CASES)
def test_what_is_staged_is_named_and_nothing_else(name):
    _, found = diagnosed(name)
    assert {verdict.cause for verdict in found.verdicts} == CASES[name].causes
    assert all(verdict.why and verdict.advice for verdict in found.verdicts)


def test_cases_are_many_and_stage_every_cause_alone_and_in_pairs():
    staged_causes = [case.causes for case in CASES.values()]
    assert sum(map(bool, staged_causes)) >= 40
    assert {frozenset({cause}) for cause in Cause} <= set(staged_causes)
    assert sum(len(causes) == 2 for causes in staged_causes) >= 15
    assert sum(not causes for causes in staged_causes) >= 10


def test_concurrency_limit_shows_littles_law_and_what_would_be_enough():
    _, found = diagnosed("10 at once of 2 s, 30% logged")
    (verdict,) = found.verdicts
    assert verdict.confidence is Confidence.HIGH
    assert verdict.figures.latency_s == pytest.approx(2.0, rel=0.01)
    assert verdict.figures.capacity == pytest.approx(5.0, rel=0.01)
    assert verdict.figures.in_flight == pytest.approx(10.0, rel=0.1)
    assert "raise max_concurrent_dispatches to 100" in verdict.advice


def test_without_logs_it_says_what_it_could_not_see_and_is_less_sure():
    evidence, found = diagnosed("10 at once of 2 s, 0% logged")
    assert found.verdicts[0].confidence is Confidence.MEDIUM
    assert found.unseen == (LOGS_OFF,)
    assert evidence.queues[0].latency is None


def test_congestion_counts_answers_by_the_names_that_the_service_reports():
    _, found = diagnosed("30% of 429")
    assert set(found.figures.attempts) == {"OK", "RESOURCE_EXHAUSTED"}
    assert "RESOURCE_EXHAUSTED (HTTP 429)" in found.verdicts[0].why


def test_cause_in_one_queue_of_a_group_names_that_queue_alone():
    evidence, found = diagnosed("one is paused, one at its limit")
    held = {verdict.cause: verdict.queues for verdict in found.verdicts}
    first, second = (queue.name for queue in evidence.queues)
    assert held == {Cause.PAUSED: (first,), Cause.OWN_LIMIT: (second,)}


def test_running_minute_is_not_taken_for_a_whole_one():
    with staged(CASES["limit of 5/s, 30% logged"]) as queues:
        queues.run_until(3.5)
        evidence = gather(queues.names, queues.sources, now=queues.now)
    assert evidence.queues[0].minutes[-1].at == START + 3 * MINUTE_S


def test_looking_back_finds_the_peak_after_it_is_over():
    with staged(CASES["done with all"]) as queues:
        queues.run()
        past = look_back(queues.names, queues.sources, since_s=3600, now=queues.now)
    assert 5.0 <= past.dispatched.rate < 10.0  # the second minute makes up for the cold first
    assert past.created.rate == pytest.approx(5.0, abs=0.5)
    assert past.dispatched.at == START + 2 * MINUTE_S
    assert not past.high_queues
    assert not past.is_high_tps_group
