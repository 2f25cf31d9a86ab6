from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from injector.control.sickness import (
    APART_S,
    FIRST_TRY,
    FORGET_S,
    GROWTH,
    SickQueue,
    broken,
    refusing,
    sick_queues,
    to_mend,
    told,
    tried,
    tries_due,
)
from injector.ledger.ports import Minute

START = 1_800_000_000.0


def minute(number, **refused: int):
    """Return a minute in which these queues refused so many creates."""
    return Minute(
        START + 60 * number, {f"sick.{name}:UNAVAILABLE": count for name, count in refused.items()}
    )


def ticked(refusals, *, ticks, waited_for=(), waiting=1_000_000, most=1_000_000, still=()):
    """Tick each minute, half a minute into it; `refusals` are the minutes' own.

    So many chunks are `waiting` for each queue that is waited for. Nothing is let go at the ticks
    that find the injector queues `still`.
    """
    known, seen = (), []
    for number in range(ticks):
        now = START + 60 * number + 30
        minutes = [each for each in refusals if now - FORGET_S - 60 < each.at <= now]
        halted = number in still
        known = sick_queues(known, minutes, now=now, waited_for=waited_for, still=halted)
        seen.append((now, known))
        if not halted:
            due = tries_due(known, most=most, now=now)
            let = {queue: min(due.get(queue, 0), waiting) for queue in waited_for}
            known = tried(known, let, now=now)
    return seen


def test_queue_is_sick_from_its_first_refusal_on_and_tried_as_little_as_at_first():
    (*_, (now, (sick,))) = ticked([minute(n, q=9) for n in range(3, 20)], ticks=20)
    assert (sick.queue, sick.since, sick.code) == ("q", START + 180, "UNAVAILABLE")
    assert sick.tries == FIRST_TRY
    assert refusing([sick], 10, now=now) == {"q"}
    assert list(told([sick], {"q"}, now=now)) == [
        "q takes nothing for 16 min (UNAVAILABLE); what is for it waits"
    ]


def test_queue_that_takes_what_it_is_sent_gets_more_each_minute():
    seen = ticked([minute(0, q=9)], ticks=12, waited_for={"q"})
    tries = [known[0].tries for _, known in seen]
    assert tries[:2] == [FIRST_TRY, FIRST_TRY]
    assert tries[2:] == [FIRST_TRY * GROWTH**n for n in range(1, 11)]


def test_queue_gets_no_more_than_was_let_go_justifies():
    seen = ticked([], ticks=12, waited_for={"q"}, waiting=5)
    assert [known[0].tries for _, known in seen][:4] == [1, 4, 16, 20]
    assert seen[-1][1][0].tries == 20
    assert ticked([], ticks=12, waited_for={"q"}, most=3)[-1][1][0].tries == 12


def test_queue_to_which_nothing_was_let_go_is_tried_as_before():
    still = range(3, 60)
    seen = ticked([], ticks=63, waited_for={"q"}, still=still)
    tries = [known[0].tries for _, known in seen]
    assert tries[:3] == [1, 4, 16]
    assert set(tries[3:61]) == {16}
    assert tries[61:] == [64, 256]


def test_tick_that_comes_twice_lets_nothing_go_twice_and_no_more_the_next_time():
    now = START + 30
    known = sick_queues((), [], now=now, waited_for={"q"})
    assert tries_due(known, most=9, now=now) == {"q": FIRST_TRY}
    known = tried(known, {"q": 1}, now=now)
    again = sick_queues(known, [], now=now + 1, waited_for={"q"})
    assert again == known
    assert tries_due(again, most=9, now=now + 1) == {}
    assert tries_due(again, most=9, now=now + APART_S) == {"q": FIRST_TRY}
    assert tries_due(again, most=9, now=now - 3600) == {"q": FIRST_TRY}


def missing(*names: str, seen=START, tries=FIRST_TRY, tried_at=0.0):
    return [SickQueue(name, START, seen, "NOT_FOUND", tries, tried_at=tried_at) for name in names]


def test_half_of_a_group_that_is_to_be_mended_is_named_with_the_remedy():
    found = to_mend(missing("a", "b"), 4, since=START - 60)
    assert [each.queue for each in found] == ["a", "b"]
    assert broken(found, 4) == (
        "2 of 4 queues take nothing: a (NOT_FOUND), b (NOT_FOUND); "
        "create the queue, or correct its name or the task's service account"
    )
    assert " and 2 others; " in broken(missing(*"abcde"), 5)


def test_nothing_is_to_be_mended_by_what_is_less_than_half_or_old_or_disproved_or_passes():
    assert to_mend(missing("a", "b"), 5, since=0.0) == ()
    assert to_mend(missing("a", "b"), 2, since=START - 59) == ()
    assert to_mend(missing("a", "b", tries=GROWTH), 2, since=0.0) == ()
    assert to_mend([replace(each, code="UNAVAILABLE") for each in missing("a")], 1, since=0) == ()
    assert to_mend([SickQueue("a", START, 0.0, "")], 1, since=-60.0) == ()


def test_several_that_are_to_be_mended_are_enough_where_nothing_was_taken():
    assert len(to_mend(missing(*"abc"), 40, since=0.0, nothing_taken=True)) == 3
    assert to_mend(missing(*"abc"), 40, since=0.0) == ()
    assert to_mend(missing(*"ab"), 40, since=0.0, nothing_taken=True) == ()


def test_queues_are_tried_in_turn_where_there_are_too_few_slots_for_all():
    sick = [*missing("a", tried_at=START - 60), *missing("b", tried_at=START - 120)]
    assert list(tries_due(sick, most=1, now=START)) == ["b", "a"]


def test_queue_that_refuses_again_is_tried_as_at_first_and_sick_from_then_on():
    refusals = [minute(0, q=9), minute(9, q=1)]
    (*_, (now, (sick,))) = ticked(refusals, ticks=10, waited_for={"q"})
    assert (sick.tries, sick.since) == (FIRST_TRY, START + 540)
    assert refusing([sick], 10, now=now) == {"q"}


def test_queue_that_nothing_waits_for_is_well_after_three_minutes_without_refusal():
    seen = ticked([minute(0, q=9)], ticks=8)
    assert [bool(known) for _, known in seen] == [True] * 4 + [False] * 4


def test_queue_that_is_waited_for_is_tried_though_nobody_knows_it_to_be_sick():
    ((_, (sick,)),) = ticked([], ticks=1, waited_for={"q"})
    assert sick.tries >= FIRST_TRY
    assert refusing([sick], 10, now=START + 30) == frozenset()


def test_code_of_a_queue_is_what_it_answers_most_and_not_that_it_is_held_back():
    counts = {"sick.q:THROTTLED": 90, "sick.q:UNAVAILABLE": 2, "sick.q:INTERNAL": 1}
    (sick,) = sick_queues((), [Minute(START, counts)], now=START + 30)
    assert sick.code == "UNAVAILABLE"


@given(st.integers(1, 12), st.sets(st.sampled_from("abcdefghijkl")))
def test_half_of_a_group_and_more_is_no_queues_trouble(queues, names):
    known = sick_queues((), [minute(0, **dict.fromkeys(names, 5))], now=START + 30)
    assert refusing(known, queues, now=START + 30) == (
        frozenset(names) if 2 * len(names) < queues else frozenset()
    )


@given(
    st.lists(st.sets(st.sampled_from("abc")), max_size=15),
    st.sets(st.sampled_from("abc")),
    st.sets(st.integers(0, 17)),
    st.integers(0, 50),
)
def test_tries_are_as_before_or_grow_with_what_was_let_go_and_none_waited_for_is_forgotten(
    refusing_each_minute, waited_for, still, waiting
):
    refusals = [
        minute(n, **dict.fromkeys(names, 5)) for n, names in enumerate(refusing_each_minute)
    ]
    before = {}
    seen = ticked(refusals, ticks=18, waited_for=waited_for, waiting=waiting, still=still)
    for number, (_, known) in enumerate(seen):
        tries = {each.queue: each.tries for each in known}
        assert set(tries) >= waited_for
        for queue, count in tries.items():
            last = before.get(queue, FIRST_TRY)
            grown = set() if number in still else {GROWTH * min(last, waiting)}
            assert count >= FIRST_TRY
            assert count in {FIRST_TRY, last} | grown
        before = tries
