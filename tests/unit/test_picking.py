import pytest

from injector.cli.picking import picks_of_ranges
from injector.errors import Misused

JOB = {"records": 250}


def ordinals(text):
    picks = picks_of_ranges(text, JOB)
    return [100 * pick.chunk + n for pick in picks for n in range(100) if pick.mask >> n & 1]


def test_ranges_pick_each_record_once_whatever_their_order():
    assert ordinals("200-201, 5,99-100,5") == [5, 99, 100, 200, 201]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("10-5", "10-5: goes backwards; write 5-10"),
        ("250", "250: the job has the records 0-249. They are counted from 0"),
        ("5,240-250", "240-250: the job has the records 0-249"),
        ("5-", "'5-' is not a range of records"),
    ],
)
def test_a_range_that_is_none_is_told_for_its_own_reason(text, words):
    with pytest.raises(Misused, match=words.replace("(", r"\(")):
        picks_of_ranges(text, JOB)
