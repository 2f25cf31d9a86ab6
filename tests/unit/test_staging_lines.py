import re
import tracemalloc
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.staging.jsonl import bare_lines, read_jsonl
from injector.staging.lines import physical_lines

texts = st.text(alphabet="ab\r\né😀\u2028\x0b\x85", max_size=40).map(str.encode)

objects = st.sampled_from(
    [b"{}", b'{"a":"\\n}\\n{"}', '{"é":[{},{}]}'.encode(), b'{"a": {"b": 1} }']
)
between = st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b" \n", b"\n\t", b"\n \n"])
files = st.lists(st.tuples(objects, between), min_size=1, max_size=6)


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


@given(files)
def test_bare_lines_are_the_records_that_a_file_of_good_ones_holds(parts):
    content = b"".join(chain.from_iterable(parts))

    bare = bare_lines(content)

    assert bare in ([], [raw for _, _, raw, _ in read_jsonl(iter([content]), limit=1000)])
    assert bool(bare) == (all(end == b"\n" for _, end in parts))


def test_bare_lines_need_no_ending_of_the_last():
    assert bare_lines(b"{}\n{}") == [b"{}", b"{}"]
    assert bare_lines(b"") == []
