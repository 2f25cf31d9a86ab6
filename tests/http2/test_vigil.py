"""Telling by its silence that a peer is gone."""

from hypothesis import given
from hypothesis import strategies as st

from injector.http2.vigil import MOST_PINGS, Step, Vigil


def test_a_peer_that_is_silent_is_asked_and_then_left():
    vigil = Vigil(silent_s=10, answer_s=5)
    assert vigil.look(now=100, heard=100) == (Step.WAIT, 10)
    assert vigil.look(now=108, heard=103) == (Step.WAIT, 5)
    assert vigil.look(now=113, heard=103) == (Step.ASK, 5)
    assert vigil.look(now=117, heard=103) == (Step.WAIT, 1)
    assert vigil.look(now=118, heard=103) == (Step.LEAVE, 0)


def test_a_peer_that_says_anything_is_kept():
    vigil = Vigil(silent_s=10, answer_s=5)
    assert vigil.look(now=10, heard=0) == (Step.ASK, 5)
    assert vigil.look(now=15, heard=14) == (Step.WAIT, 9)


def test_a_peer_is_asked_a_few_times_between_two_answers():
    vigil = Vigil(silent_s=10, answer_s=5)
    steps = [vigil.look(now=now, heard=now - 10)[0] for now in range(10, 200, 10)]
    assert steps.count(Step.ASK) == MOST_PINGS
    vigil.answered()
    assert vigil.look(now=200, heard=190)[0] is Step.ASK


@given(st.lists(st.tuples(st.integers(0, 20), st.booleans()), max_size=60))
def test_a_peer_that_fell_silent_is_left_in_time_unless_it_may_not_be_asked(rests):
    """Whoever looks when told to; a peer is left only after a ping and its time without a word."""
    vigil, now, heard = Vigil(silent_s=10, answer_s=5), 0, 0
    asked = None
    for rest, says in rests:
        if says:
            heard = now = now + rest
        step, wait_s = vigil.look(now=now, heard=heard)
        assert 0 <= wait_s <= 10
        if step is Step.LEAVE:
            assert asked is not None
            assert heard <= asked <= now - 5
            return
        if step is Step.ASK:
            assert now - heard >= 10
            asked = now
        now += wait_s
