import json

import pytest

from benchmarks.rows import Row, as_json, as_markdown

FASTER = Row("create", 10.0, "µs", "loop", 250.0, aim="≤ 75 µs")


@pytest.mark.parametrize(
    ("better", "value", "peer", "ratio"),
    [("less", 10, 250, 25), ("more", 500, 250, 2), ("less", 500, 250, 0.5), ("less", 0, 250, None)],
)
def test_ratio_says_how_many_times_as_good_as_the_peer(better, value, peer, ratio):
    assert Row("x", value, "s", "peer", peer, better=better).ratio == ratio


def test_row_without_a_peer_has_no_ratio():
    assert Row("x", 1, "s").ratio is None
    assert Row("x", 1, "s").cells == ("x", "1.00 s", "", "", "")


def test_table_has_each_row_and_the_words_of_its_benchmark():
    table = as_markdown([("delivery", "How it is measured.", [FASTER])], mode="quick")
    assert "| create | 10.0 µs | loop: 250 µs | 25.0x | ≤ 75 µs | [delivery](#delivery) |" in table
    assert "## delivery\n\nHow it is measured.\n" in table


def test_programs_get_the_same_figures():
    (row,) = json.loads(as_json([("delivery", "", [FASTER])], mode="full"))["rows"]
    assert (row["benchmark"], row["value"], row["ratio"]) == ("delivery", 10.0, 25.0)


def test_a_figure_that_cannot_be_measured_says_what_it_takes():
    row = Row("h2load", None, "µs", "loop", 250.0, absent="needs h2load")
    assert row.cells == ("h2load", "needs h2load", "loop: 250 µs", "", "")
