"""How much stands on a page of a list."""

from hypothesis import given
from hypothesis import strategies as st

from injector.emulator.api import messages, pages

CHANNEL_TAKES = 4 * 1024 * 1024


@given(st.lists(st.sampled_from([1, 50_000, 1_100_000, 2_900_000, 3_900_000, 5_000_000])))
def test_a_page_takes_what_fits_a_channel_and_at_least_one(sizes):
    response = messages.ListTasksResponse()
    tasks = [messages.Task(name="x" * size) for size in sizes]
    taken = pages.fill(response.tasks, tasks)
    assert list(response.tasks) == tasks[:taken]
    assert response.ByteSize() < CHANNEL_TAKES or taken == 1
    if taken < len(tasks):
        assert response.ByteSize() + tasks[taken].ByteSize() > 0.95 * CHANNEL_TAKES
    assert bool(taken) == bool(tasks)
