"""Taking over the queues that a group is configured with, and what the new ones get."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.control.decision import Observation, RampState, Thresholds, decide
from injector.control.growth import Growth, names_of, spread, take_over
from injector.groups import Group, expand
from injector.layout import Layout
from injector.pacing.ramp import Ramp
from injector.pacing.signals import Signals
from injector.queue_names import compact

PARENT = "projects/p/locations/us-central1/queues/"
NOW = 1_800_000_000.0
RAMP = Ramp()


def group(expression, ramp=RAMP):
    return Group("mail", (f"{PARENT}i",), expand(PARENT + expression), None, ramp)


def taken(before, after, *, rate=5.0, interleaved_at=0.0, fresh=""):
    growth = Growth(PARENT + before, PARENT + fresh if fresh else "", RampState(rate=9.0))
    growth = replace(growth, interleaved_at=interleaved_at)
    return take_over(growth, group(after), now=NOW, rate=rate)


def ids(expression):
    return expression.removeprefix(PARENT)


def test_a_group_never_seen_is_taken_as_it_is():
    found = take_over(Growth(), group("q-[0000-0039]"), now=NOW, rate=0.0)
    assert (ids(found.growth.warm), found.growth.fresh, found.notice) == ("q-[0000-0039]", "", "")


def test_what_follows_on_is_new_and_begins_cold():
    found = taken("q-[0000-0199]", "q-[0000-0399]")
    assert ids(found.growth.warm) == "q-[0000-0199]"
    assert ids(found.growth.fresh) == "q-[0200-0399]"
    assert found.growth.ramp == RampState()


@pytest.mark.parametrize(
    ("before", "after", "since_s", "said"),
    [
        ("q-[0000-0004]", "q-[0000-0004],q-0000a", 999, "1 queue, sorted evenly between 5, in use"),
        ("q-[0000-0004]", "q-[0000-0004],q-0000a", 1, "1 new queue waiting: "),
        ("q-[0000-0004]", "q-[0000-0004],q-[0000-0002:2]a", 1, "2 new queues waiting: "),
        ("q-[0-1]", "q-[0-1],q-[8-9]", 1, "2 new queues beside 2: the share follows"),
        ("q-[0-3]", "q-0", 1, "the group is down to 1 queue"),
    ],
)
def test_what_is_taken_over_is_told_in_numbers(before, after, since_s, said):
    assert taken(before, after, interleaved_at=NOW - since_s).notice.startswith(said)


def test_more_queues_in_the_middle_of_a_climb_begin_it_again_together():
    found = taken("q-[0000-0199]", "q-[0000-0499]", fresh="q-[0200-0399]")
    assert ids(found.growth.fresh) == "q-[0200-0499]"
    assert found.growth.ramp.rate == 0


def test_fewer_queues_change_nothing_of_the_climb():
    found = taken("q-[0000-0199]", "q-[0000-0299]", fresh="q-[0200-0399]")
    assert ids(found.growth.fresh) == "q-[0200-0299]"
    assert found.growth.ramp.rate == 9.0


def test_queues_between_warm_ones_are_warm_at_once():
    found = taken("q-[0000-0199]", "q-[0000-0199],q-[0000-0198:2]a", rate=900.0)
    assert ids(found.growth.warm) == "q-[0000-0199],q-[0000-0198:2]a"
    assert (found.growth.fresh, found.growth.interleaved_at) == ("", NOW)


@pytest.mark.parametrize(
    ("after", "rate", "words"),
    [
        ("q-[0000-0199],q-[0000-0198:2]a", 1500.0, "500/s for each of 300"),
        ("q-[0000-0199],q-[0000-0199]a", 5.0, "at most 50 %"),
    ],
)
def test_queues_between_others_beyond_the_bounds_climb_instead(after, rate, words):
    found = taken("q-[0000-0199]", after, rate=rate)
    assert ids(found.growth.warm) == "q-[0000-0199]"
    assert found.growth.fresh
    assert words in found.notice


def test_a_second_round_waits_and_then_is_taken():
    names = ("q-[0000-0199]", "q-[0000-0199],q-[0000-0198:2]a")
    early = taken(*names, interleaved_at=NOW - 299)
    assert ids(early.growth.warm) == names[0]
    assert "wait" in early.notice
    assert taken(*names, interleaved_at=NOW - 300).growth.interleaved_at == NOW


def test_a_group_of_new_queues_alone_is_cold():
    assert taken("q-[0000-0199]", "p-[0000-0199]").cold


def test_a_group_that_publishes_has_no_queues_to_take_over():
    topic = Group("mail", (f"{PARENT}i",), (), "projects/p/topics/t")
    assert take_over(Growth(), topic, now=NOW, rate=5.0).growth == Growth()


QUEUES = st.sets(
    st.tuples(st.integers(0, 9), st.sampled_from(["", "a"])).map(
        lambda name: f"{PARENT}q-{name[0]:02}{name[1]}"
    ),
    min_size=1,
)


@given(QUEUES, QUEUES, QUEUES, st.floats(0, 400), st.floats(0, 5000))
def test_what_is_taken_over_is_configured_and_in_time_all_of_it(warm, fresh, after, since, rate):
    """Queues that were removed are gone at once, those that are new soon there."""
    warm, fresh, after = sorted(warm), sorted(fresh - warm), tuple(sorted(after))
    growth = Growth(compact(warm), compact(fresh), interleaved_at=NOW - since)
    configured = replace(group("q-00"), queues=after)

    found = take_over(growth, configured, now=NOW, rate=rate)
    known = {*names_of(found.growth.warm), *names_of(found.growth.fresh)}
    later = take_over(found.growth, configured, now=NOW + 300, rate=rate)
    both = names_of(later.growth.warm), names_of(later.growth.fresh)

    assert known <= {*after}
    assert known == {*after} or "wait" in found.notice
    assert sorted((*both[0], *both[1])) == list(after)


def spread_of(growth, rate, *, ramp=RAMP, signals=None, elapsed_s=0.0):
    seen = Observation(signals or Signals(), span_s=elapsed_s, work=True, active_at=NOW)
    state = RampState(rate=rate, reached=rate, changed_at=NOW, ticked_at=NOW, active_at=NOW)
    found = decide(state, seen, NOW, ramp=ramp)
    return spread(
        growth,
        group("q-[0000-0399]", ramp),
        seen,
        found,
        now=NOW,
        ahead_s=180.0,
        limits=Thresholds(),
    )


@given(st.floats(5, 500), st.floats(5, 500), st.integers(1, 400))
def test_new_queues_never_get_more_than_their_rate_or_their_even_share(rate, at_due, new):
    growth = Growth(f"{PARENT}q-[0000-0199]", f"{PARENT}q-[0200-{199 + new:04}]")
    found = spread_of(growth, rate)
    layout = found.layout_at(max(rate, at_due))
    if layout.fresh:
        assert layout.share * max(rate, at_due) <= 5.0 * (1 + 1e-9)
        assert layout.share <= new / (200 + new)
    else:
        assert new / (200 + new) * rate <= 5.0


def test_a_cold_group_needs_no_climb_of_its_own():
    growth = Growth(f"{PARENT}q-[0000-0199]", f"{PARENT}q-[0200-0399]")
    found = spread_of(growth, 5.0)
    assert found.layout_at(5.0) == Layout(expand(f"{PARENT}q-[0000-0399]"))
    assert found.growth.fresh == ""


def test_a_stated_warmth_of_the_group_is_not_one_of_its_new_queues():
    growth = Growth(f"{PARENT}q-[0000-0199]", f"{PARENT}q-[0200-0399]")
    found = spread_of(growth, 400.0, ramp=replace(RAMP, warm_rate=400.0))
    assert found.layout_at(400.0).share == pytest.approx(5 / 400)


def test_growth_reads_back_as_it_was_written():
    growth = Growth("a", "b", RampState(rate=7.5, elapsed_s=3.0), 12.0)
    assert Growth.from_builtins(growth.to_builtins()) == growth
    assert Growth.from_builtins({}) == Growth()
