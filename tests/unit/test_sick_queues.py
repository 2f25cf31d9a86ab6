from hypothesis import given
from hypothesis import strategies as st

from injector.control.sickness import FIRST_TRY, FORGET_S, GROWTH, refusing, sick_queues, told
from injector.ledger.ports import Minute

START = 1_800_000_000.0


def minute(number, **refused: int):
    """Return a minute in which these queues refused so many creates."""
    return Minute(
        START + 60 * number, {f"sick.{name}:UNAVAILABLE": count for name, count in refused.items()}
    )


def ticked(refusals, *, ticks, waited_for=()):
    """Tick each minute, half a minute into it; `refusals` are the minutes' own."""
    known, seen = (), []
    for number in range(ticks):
        now = START + 60 * number + 30
        minutes = [each for each in refusals if now - FORGET_S - 60 < each.at <= now]
        known = sick_queues(known, minutes, now=now, last_tick=now - 60, waited_for=waited_for)
        seen.append((now, known))
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
    (sick,) = sick_queues((), [Minute(START, counts)], now=START + 30, last_tick=START)
    assert sick.code == "UNAVAILABLE"


@given(st.integers(1, 12), st.sets(st.sampled_from("abcdefghijkl")))
def test_half_of_a_group_and_more_is_no_queues_trouble(queues, names):
    known = sick_queues((), [minute(0, **dict.fromkeys(names, 5))], now=START + 30, last_tick=START)
    assert refusing(known, queues, now=START + 30) == (
        frozenset(names) if 2 * len(names) < queues else frozenset()
    )


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=15), st.sets(st.sampled_from("abc")))
def test_tries_are_the_first_or_grow_and_no_queue_that_is_waited_for_is_forgotten(
    refusing_each_minute, waited_for
):
    refusals = [
        minute(n, **dict.fromkeys(names, 5)) for n, names in enumerate(refusing_each_minute)
    ]
    before = {}
    for _, known in ticked(refusals, ticks=18, waited_for=waited_for):
        tries = {each.queue: each.tries for each in known}
        assert set(tries) >= waited_for
        for queue, count in tries.items():
            assert count in {FIRST_TRY, GROWTH * before.get(queue, FIRST_TRY)}
        before = tries
