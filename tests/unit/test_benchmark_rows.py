import json
from dataclasses import fields
from pathlib import Path

import pytest

from benchmarks.rows import IN_README, Row, as_json, as_markdown, in_readme

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


def test_the_readme_shows_the_figures_that_the_benchmarks_gave():
    root = Path(__file__).parents[2]
    written = json.loads((root / "docs" / "benchmarks.json").read_text())["rows"]
    names = [field.name for field in fields(Row)]
    rows = [Row(**{name: row[name] for name in names if name in row}) for row in written]
    readme = (root / "README.md").read_text()
    assert in_readme(readme, rows) == readme
    assert readme.count("x |\n") >= len(IN_README)


def test_a_readme_without_its_marks_is_not_written():
    with pytest.raises(ValueError, match="substring"):
        in_readme("# A README\n", [])
