import re
import tracemalloc
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.staging.lines import physical_lines

texts = st.text(alphabet="ab\r\né😀\u2028\x0b\x85", max_size=40).map(str.encode)


def cut(content, size):
    return (content[start : start + size] for start in range(0, len(content), size))


@given(texts, st.sampled_from([1, 2, 3, 7, 64]))
def test_lines_are_the_same_wherever_the_blocks_are_cut(content, size):
    expected = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", content)

    lines = list(physical_lines(cut(content, size), limit=1000))

    assert lines == [(line, len(line)) for line in expected]


@given(texts, st.sampled_from([1, 2, 3, 7, 64]), st.integers(1, 6))
def test_a_line_over_the_limit_is_told_by_its_size_and_hides_no_other(content, size, limit):
    expected = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", content)

    lines = list(physical_lines(cut(content, size), limit=limit))

    assert [size for _, size in lines] == [len(line) for line in expected]
    assert [text for text, size in lines if size <= limit] == [
        line for line in expected if len(line) <= limit
    ]


@pytest.mark.parametrize("block", [b"x" * 65536, b"\0" * 65536])
def test_a_line_without_end_takes_no_more_memory_than_its_limit(block):
    tracemalloc.start()
    lines = list(
        physical_lines((part for part, _ in zip(repeat(block), range(500))), limit=100_000)
    )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [size for _, size in lines] == [500 * 65536]
    assert peak < 1_000_000
