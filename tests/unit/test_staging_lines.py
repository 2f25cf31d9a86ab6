import re
import tracemalloc
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.staging.lines import physical_lines

texts = st.text(alphabet="ab\r\né😀\u2028\x0b\x85", max_size=40).map(str.encode)


def lines_of(blocks, *, limit):
    """Return each line with its size; what was dropped is the first one's."""
    return [
        (line, len(line) + (0 if place else dropped))
        for lines, dropped in physical_lines(blocks, limit=limit)
        for place, line in enumerate(lines)
    ]


def cut(content, size):
    return (content[start : start + size] for start in range(0, len(content), size))


@given(texts, st.sampled_from([1, 2, 3, 7, 64]))
def test_lines_are_the_same_wherever_the_blocks_are_cut(content, size):
    expected = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", content)

    lines = lines_of(cut(content, size), limit=1000)

    assert lines == [(line, len(line)) for line in expected]


@given(texts, st.sampled_from([1, 2, 3, 7, 64]), st.integers(1, 6))
def test_a_line_over_the_limit_is_told_by_its_size_and_hides_no_other(content, size, limit):
    expected = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", content)

    lines = lines_of(cut(content, size), limit=limit)

    assert [size for _, size in lines] == [len(line) for line in expected]
    assert [text for text, size in lines if size <= limit] == [
        line for line in expected if len(line) <= limit
    ]


@pytest.mark.parametrize("block", [b"x" * 65536, b"\0" * 65536])
def test_a_line_without_end_takes_no_more_memory_than_its_limit(block):
    tracemalloc.start()
    lines = lines_of(repeat(block, 500), limit=100_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [size for _, size in lines] == [500 * 65536]
    assert peak < 1_000_000
