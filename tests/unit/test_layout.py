"""Which queue a task goes to while its group grows, and that it stays there."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from injector.control.pinning import Pinned
from injector.groups import expand
from injector.layout import Layout, share_of
from injector.ledger.ports import Pin
from injector.naming import draw_of

PARENT = "projects/p/locations/us-central1/queues/"
WARM, FRESH = expand(f"{PARENT}q-[0000-0039]"), expand(f"{PARENT}q-[0040-0079]")
DRAWS = [draw_of("job", b"%d" % n) for n in range(40_000)]


@given(st.integers(0, 2**64 - 1))
def test_a_group_that_does_not_grow_chooses_as_it_always_did(draw):
    assert Layout(WARM).queue_of(draw) == WARM[draw % 40]
    assert Layout(WARM, FRESH, 0.0).queue_of(draw) == WARM[draw % 40]


@given(st.integers(0, 2**64 - 1), st.floats(0, 1), st.floats(0, 1))
def test_a_greater_share_only_moves_tasks_to_new_queues(draw, one, other):
    less, more = sorted((one, other))
    before, after = (Layout(WARM, FRESH, share).queue_of(draw) for share in (less, more))
    assert before == after or (before in WARM and after in FRESH)


@given(st.lists(st.integers(0, 2**64 - 1)), st.sampled_from([0.0, 0.3, 1.0]))
def test_queues_of_many_lots_are_those_of_each(draws, share):
    layout = Layout(WARM, FRESH, share)
    assert layout.queues_of(draws) == [layout.queue_of(draw) for draw in draws]


def test_the_share_goes_to_the_new_queues_and_evenly_over_them():
    counts = Counter(Layout(WARM, FRESH, 0.25).queue_of(draw) for draw in DRAWS)
    fresh = [counts[name] for name in FRESH]
    assert abs(sum(fresh) / len(DRAWS) - 0.25) < 0.01
    assert max(fresh) < 250 + 6 * 16
    assert min(fresh) > 250 - 6 * 16


@given(st.floats(0, 1), st.booleans())
def test_a_layout_reads_back_as_it_was_written(share, warm):
    layout = Layout(WARM if warm else (), FRESH, share)
    again = Layout.from_text(layout.to_text())
    assert [again.queue_of(draw) for draw in DRAWS[:50] if warm or share == 1] == [
        layout.queue_of(draw) for draw in DRAWS[:50] if warm or share == 1
    ]


@given(st.floats(0.01, 1e6), st.floats(0.01, 1e6), st.floats(0, 1))
def test_a_share_is_never_more_than_its_rate_or_its_most(rate, whole, most):
    share = share_of(rate, whole, most=most)
    assert share <= most
    assert share * whole <= rate * (1 + 1e-9)


class Pins:
    """Pins that count how often they are asked for."""

    def __init__(self, *pins: Pin) -> None:
        self.pins, self.asked = list(pins), 0

    def __call__(self) -> list[Pin]:
        self.asked += 1
        return self.pins


def test_a_chunk_has_the_layout_that_it_was_pinned_to():
    pins = Pins(Pin(0, 10, Layout(WARM).to_text()), Pin(10, 20, Layout(WARM, FRESH, 0.5).to_text()))
    pinned = Pinned(pins, Layout(FRESH))
    assert [pinned.of(chunk).share for chunk in (0, 9, 10, 19)] == [0.0, 0.0, 0.5, 0.5]
    assert pinned.of(5).queues == WARM
    assert pinned.fresh_of(10) == set(FRESH)
    assert pins.asked == 1


def test_a_chunk_fed_before_there_were_pins_goes_by_the_configuration():
    assert Pinned(Pins(), Layout(FRESH)).of(3) == Layout(FRESH)


def test_pins_are_asked_for_again_when_a_chunk_lies_beyond_them():
    pins = Pins(Pin(0, 10, Layout(WARM).to_text()))
    pinned = Pinned(pins, Layout(FRESH))
    assert pinned.of(0).queues == WARM
    pins.pins.append(Pin(10, 12, Layout(WARM, FRESH, 0.1).to_text()))
    assert pinned.of(11).share == 0.1
    assert pins.asked == 2
