"""The tokens that retries take: of a queue, and of all."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from injector.errors import Misused
from injector.pacing.throttle import GroupRetryTokens, RetryTokens


def test_retries_stop_at_half_of_the_tokens_and_come_back_with_answers():
    tokens = RetryTokens(max_tokens=10, token_ratio=0.1)
    for _ in range(5):
        tokens.faulted()
    assert not tokens.allowed
    tokens.answered()
    assert tokens.allowed


@settings(max_examples=50)
@given(st.lists(st.booleans()), st.integers(1, 1000), st.floats(0.001, 10))
def test_tokens_stay_between_none_and_all(answers, most, ratio):
    tokens = RetryTokens(max_tokens=most, token_ratio=ratio)
    for answered in answers:
        if answered:
            tokens.answered()
        else:
            tokens.faulted()
    assert 0 <= tokens.tokens <= most


def test_ten_answers_at_a_tenth_make_a_whole_token():
    tokens = RetryTokens(max_tokens=10, token_ratio=0.1)
    for _ in range(6):
        tokens.faulted()
    for _ in range(10):
        tokens.answered()
    assert tokens.tokens == 5.0


@pytest.mark.parametrize("wrong", [{"max_tokens": 0}, {"token_ratio": 0}, {"token_ratio": -1}])
def test_token_settings_out_of_range_are_refused(wrong):
    with pytest.raises(Misused, match=next(iter(wrong))):
        RetryTokens(**wrong)


def retries(tokens: GroupRetryTokens, queue: str, faults: int = 1000) -> int:
    """Let calls to a queue fail one after the other; return how many were tried again."""
    allowed = 0
    for _ in range(faults):
        tokens.faulted(queue)
        allowed += tokens.allowed(queue)
    return allowed


def test_sick_queues_leave_the_others_their_retries():
    tokens = GroupRetryTokens()
    for number in range(9):
        retries(tokens, f"sick-{number}")
        assert not tokens.allowed(f"sick-{number}")
    assert retries(tokens, "healthy", faults=20) == 20


def test_many_queues_that_fail_at_once_retry_no_more_than_ten():
    tokens = GroupRetryTokens()
    assert sum(retries(tokens, f"q-{number}") for number in range(1000)) <= 500
    assert not tokens.allowed("fresh")


def test_answers_bring_the_retries_of_a_group_back():
    tokens = GroupRetryTokens()
    for number in range(1000):
        retries(tokens, f"q-{number}", faults=100)
    for _ in range(20):
        tokens.answered("fresh")
    assert tokens.allowed("fresh")
