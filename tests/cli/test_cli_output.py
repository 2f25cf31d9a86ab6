"""Tables where no terminal shows them: plain lines for grep, cut and a file."""

from contextlib import redirect_stdout
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.cli.main import run
from injector.cli.output import print_pairs, print_table, say

CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z", "M"]), min_size=1)


def printed(act, *arguments: object):
    with redirect_stdout(StringIO()) as out:
        act(*arguments)
    return out.getvalue().splitlines()


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS)))
def test_each_row_is_one_line_that_gives_its_cells_back(rows):
    head, *lines = printed(print_table, ("name", ">rate", "reason"), rows)
    assert tuple(head.split()) == ("name", "rate", "reason")
    assert [tuple(line.split()) for line in lines] == rows
    assert all(line == line.rstrip() for line in lines)


@given(rows=st.lists(st.tuples(CELLS, CELLS), min_size=1))
def test_columns_begin_where_their_headings_do(rows):
    ascii_rows = [(a.encode("ascii", "replace").decode(), b) for a, b in rows]
    head, *lines = printed(print_table, ("name", "reason"), ascii_rows)
    at = head.index("reason")
    assert [line[at:] for line in lines] == [reason for _, reason in rows]


def test_wide_signs_and_marks_are_counted_as_they_are_seen():
    assert printed(print_pairs, {"名": "a", "e\u0301": "b", "xyz": "c"}) == [
        "名   a",
        "e\u0301    b",
        "xyz  c",
    ]


def test_numbers_end_in_one_column_and_line_breaks_do_not_break_a_row():
    rows = [("a", "5", "one\ntwo"), ("b", "1,000", "")]
    assert printed(print_table, ("name", ">rate", "why"), rows, "\nall") == [
        "",
        "all",
        "name   rate  why",
        "a         5  one two",
        "b     1,000",
    ]


def test_a_line_is_printed_whole_and_as_it_is():
    line = "[bold]x[/bold] " + "word " * 100
    assert printed(say, line) == [line]


@pytest.mark.parametrize("command", ["plan m.yaml --groups g.yaml", "simulate 100000"])
def test_no_line_of_a_command_ends_in_blanks(command, capsys):
    assert run(command.split()) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 8
    assert [line for line in lines if line != line.rstrip()] == []
