"""Pins of chunks to layouts, over every kind of ledger."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from injector.ledger import Ledger, open_ledger
from injector.ledger.ports import JobState, NewJob, Pin

JOB = NewJob("welcome", "mail", "{}", "file:///chunks", 12500, 125, "sha256:1")


def test_what_is_pinned_stays_pinned(ledger: Ledger):
    ledger.jobs.register(JOB, now=1.0)
    ledger.jobs.pin("welcome", 10, "a")
    ledger.jobs.pin("welcome", 10, "b")
    ledger.jobs.pin("welcome", 7, "b")
    ledger.jobs.pin("welcome", 12, "b")
    assert ledger.jobs.pins("welcome") == [Pin(0, 10, "a"), Pin(10, 12, "b")]


def test_a_layout_that_goes_on_is_one_pin(ledger: Ledger):
    for past in (3, 9, 27):
        ledger.jobs.pin("welcome", past, "a")
    assert ledger.jobs.pins("welcome") == [Pin(0, 27, "a")]


def test_pins_made_at_once_by_several_never_overlap(ledger: Ledger):
    ledger.jobs.register(JOB, now=1.0)
    with ThreadPoolExecutor(4) as pool:
        wishes = [(past, layout) for past in range(5, 100, 5) for layout in "abc"]
        list(pool.map(lambda wish: ledger.jobs.pin("welcome", *wish), wishes))
    pins = ledger.jobs.pins("welcome")
    assert pins[0].first == 0
    assert pins[-1].past == 95
    assert all(before.past == after.first for before, after in pairwise(pins))


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(1, 60), st.sampled_from("ab")), min_size=1, max_size=20))
def test_a_chunk_keeps_its_first_layout(wishes: list[tuple[int, str]]):
    ledger, first = open_ledger("sqlite://"), {}
    for past, layout in wishes:
        ledger.jobs.pin("welcome", past, layout)
        for chunk in range(past):
            first.setdefault(chunk, layout)
    kept = {
        n: pin.layout for pin in ledger.jobs.pins("welcome") for n in range(pin.first, pin.past)
    }
    ledger.close()
    assert kept == first


def test_pins_live_as_long_as_a_job_whose_tasks_go_by_their_names(ledger: Ledger):
    again = NewJob("again", "mail", "{}", "file:///c", 100, 1, "sha256:2", named_after="welcome")
    for job in (JOB, again):
        ledger.jobs.register(job, now=1.0)
        ledger.jobs.set_state(job.id, JobState.CANCELLED, "", now=2.0)
    ledger.jobs.pin("welcome", 10, "a")
    ledger.jobs.delete("welcome", now=3.0)
    assert ledger.jobs.pins("welcome") == [Pin(0, 10, "a")]
    ledger.jobs.delete("again", now=4.0)
    assert ledger.jobs.pins("welcome") == []
