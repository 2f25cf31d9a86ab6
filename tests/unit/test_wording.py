"""One thing is told of as one, wherever numbers are put into words."""

import pytest

from injector.interleave import bound_problems
from injector.queue_names import so_many
from injector.wording import are, counted


@pytest.mark.parametrize(
    ("number", "said"),
    [(0, "0 new queues are"), (1, "1 new queue is"), (1000, "1,000 new queues are")],
)
def test_a_count_goes_with_its_thing_and_its_verb(number, said):
    assert f"{so_many(number, 'new')} {are(number)}" == said
    assert f"{counted(number, 'new queue')} {are(number)}" == said


def test_one_new_queue_that_is_too_many_is_told_as_one():
    (said,) = bound_problems(queues=1, new=1, creates_per_s=1.0)
    assert said.startswith("1 new queue is 100% of the 1 there are")
