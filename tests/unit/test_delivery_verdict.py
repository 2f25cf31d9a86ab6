import grpc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.delivery.ports import OUT_OF_TIME, OWN_CODES, Outcome, Result
from injector.delivery.verdict import judge, weigh
from injector.pacing.signals import NOT_ACCEPTED

CODES = [code.name for code in grpc.StatusCode]


@pytest.mark.parametrize("code", CODES)
def test_every_status_is_taken_refused_or_not_taken(code: str) -> None:
    expected = {
        "OK": Outcome.CREATED,
        "ALREADY_EXISTS": Outcome.EXISTED,
        "INVALID_ARGUMENT": Outcome.REJECTED,
    }
    result = judge(code, "why", "projects/p/locations/l/queues/q")
    assert (result.outcome, result.code) == (expected.get(code, Outcome.NOT_TAKEN), code)


@pytest.mark.parametrize("code", CODES)
def test_a_fault_of_the_queue_is_never_evidence_of_overload(code: str) -> None:
    assert not (judge(code, "", "q").queue_at_fault and code in NOT_ACCEPTED)


@given(st.lists(st.sampled_from([*CODES, *OWN_CODES])))
def test_answers_faults_and_own_verdicts_add_up(codes: list[str]) -> None:
    results = [judge(code, "", "q") for code in codes]
    answered, faults = weigh(results)
    own = sum(code in OWN_CODES for code in codes)
    assert answered + sum(faults.values()) + own == len(codes)
    assert set(faults) <= NOT_ACCEPTED


def test_a_create_that_was_not_sent_says_nothing_about_its_queue() -> None:
    late = Result(Outcome.NOT_TAKEN, OUT_OF_TIME)
    assert not late.sent
    assert not late.queue_at_fault


def test_a_permission_that_lacks_names_the_roles_to_create_and_to_take_back() -> None:
    reason = judge("PERMISSION_DENIED", "no", "q").reason
    assert "roles/cloudtasks.enqueuer" in reason
    assert "roles/cloudtasks.taskDeleter" in reason
