"""The table of a traffic split, and its rounding to what a platform can do."""

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.pacing.traffic import WHOLE, Shift, split, table

SEED = """\
0 1.0 0.5 99.5
5 1.5 0.75 99.25
10 2.3 1.15 98.85
15 3.4 1.7 98.3
20 5.1 2.55 97.45
25 7.6 3.8 96.2
30 11.4 5.7 94.3
35 17.1 8.55 91.45
40 25.6 12.8 87.2
45 38.4 19.2 80.8
50 57.7 28.85 71.15
55 86.5 43.25 56.75
60 100 50 50"""
shifts = st.builds(
    Shift,
    rate=st.floats(1, 1e7),
    new_share=st.floats(0.01, 1),
    start_rate=st.floats(1, 500),
    growth=st.floats(1.05, 3),
)
grains = st.sampled_from([Decimal(1), Decimal("0.1")])
formers = st.lists(st.integers(1, 50), min_size=1, max_size=5).map(
    lambda parts: {f"v{n}": Decimal(part) * WHOLE / sum(parts) for n, part in enumerate(parts)}
)


def test_table_of_the_guide_comes_out_to_the_digit():
    rows = list(table(Shift(rate=100_000)))
    wanted = [tuple(map(Decimal, line.split())) for line in SEED.splitlines()]
    assert [
        (Decimal(str(row.minute)), row.moved, row.to_new_queues, row.to_old_queues) for row in rows
    ] == wanted


@given(shifts)
def test_new_queues_begin_at_the_start_rate_and_grow_by_no_more_than_the_growth(shift):
    shares = list(shift.steps())
    first = float(shares[0]) / 100 * shift.rate * shift.new_share
    assert first == pytest.approx(min(shift.start_rate, shift.rate * shift.new_share), rel=1e-9)
    most = Decimal(str(shift.growth)) * Decimal("1.000000000000000000001")
    assert all(after <= before * most for before, after in pairwise(shares))
    assert shares[-1] == WHOLE
    assert WHOLE not in shares[:-1]


@given(shifts, formers, grains)
def test_split_adds_up_to_100_and_is_never_above_the_curve(shift, former, grain):
    for share in shift.steps():
        found = split(former, "new", share, grain=grain)
        assert sum(found.values()) == WHOLE
        assert found.get("new", Decimal(0)) <= share
        assert all(percent > 0 for percent in found.values())
        assert found.get("new", Decimal(0)) % grain == 0


def test_cloud_run_takes_whole_percents_and_app_engine_tenths():
    shares = list(Shift(rate=100_000).steps())
    old = {"old": WHOLE}
    whole = [split(old, "new", each, grain=Decimal(1))["new"] for each in shares]
    tenths = [split(old, "new", each, grain=Decimal("0.1"))["new"] for each in shares]
    assert whole == [1, 1, 2, 3, 5, 7, 11, 17, 25, 38, 57, 86, 100]
    assert tenths[:4] == [Decimal(text) for text in ("1.0", "1.5", "2.2", "3.3")]
