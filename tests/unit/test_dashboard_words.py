import pytest

from handlers.dashboard import words


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, words.UNKNOWN), (0, "0 s"), (59.6, "1 min"), (3725, "1 h 2 min"), (90_000, "1 d 1 h")],
)
def test_a_span_is_told_in_its_two_largest_units(seconds, said):
    assert words.span(seconds) == said


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 5, "0 %"),
        (5, 5, "100 %"),
        (1, 10**9, "0.1 %"),
        (10**9 - 1, 10**9, "99.9 %"),
        (0, 0, "0 %"),
    ],
)
def test_only_the_whole_is_a_hundred_percent_and_only_nothing_is_none(part, whole, said):
    assert words.share(part, whole) == said


@pytest.mark.parametrize(
    ("per_s", "said"), [(500, "500/s"), (12.34, "12.3/s"), (12_345.6, "12,346/s"), (0, "0/s")]
)
def test_small_rates_have_a_digit_after_the_point(per_s, said):
    assert words.rate(per_s) == said


def test_moments_are_in_utc():
    assert words.instant(0.5) == "1970-01-01 00:00:00 UTC"
    assert words.iso(0.5) == "1970-01-01T00:00:00+00:00"
