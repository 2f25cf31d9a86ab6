import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.staging.objects import fault_of, faults_of


@pytest.mark.parametrize(
    "raw",
    [
        b"{}",
        b'{"id":9007199254740993,"a":1.0,"b":1e2,"c":653247040368672768}',
        b'{"long":%b}' % (b"9" * 300),
        b'{"fraction":1.%b}' % (b"1" * 5000),
        b'{"tiny":1e-999}',
        b'{"at":"12:00:00","url":"https://a.example/\\":"}',
        b'{"a" : 1, "b" : {"a" : 2}}',
        b'{"a":[{"a":1},{"a":2}]}',
        b'{"colon":"\\u003a\\u003a"}',
        b'{"nul":"\\u0000","emoji":"\\ud83d\\ude00"}',
        '{"名前":"é"}'.encode(),
        b'{"a":%b1%b}' % (b"[" * 200, b"]" * 200),
        b'{"wide":[%b]}' % b",".join([b"[]"] * 1000),
    ],
)
def test_an_object_is_a_record_whatever_its_numbers_look_like(raw):
    assert fault_of(raw) is None


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b'{"x":NaN}', "NaN is no JSON number (column 6)"),
        (b'{"x":Infinity}', "Infinity is no JSON number (column 6)"),
        (b'{"x":-Infinity}', "-Infinity is no JSON number"),
        ('{"é":NaN}'.encode(), "NaN is no JSON number (column 6)"),
        (b'{"x":1e999}', "number is infinity"),
        (b'{"x":-1e999}', "number is infinity"),
        (b'{"x":%b}' % (b"7" * 5000), "number is infinity"),
        (b'{"x":01}', "is not JSON: number with leading zero"),
        (b"{'x':1}", "is not JSON"),
        (b'{"x":1,}', "is not JSON"),
        (b"[]", "is an array, not a JSON object"),
        (b'"text"', "is text, not a JSON object"),
        (b"17", "is a number, not a JSON object"),
        (b"null", "is null, not a JSON object"),
        (b"true", "is true or false, not a JSON object"),
        (b'{"a":1}{"b":2}', "is not JSON: unexpected content after document (column 8)"),
        (b'{"a":1', "is not JSON: unexpected end of data (column 7)"),
        (b'{"a":"\0"}', "holds a NUL byte (column 7)"),
        (b'\0{"a":1}', "holds a NUL byte (column 1)"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"a":"\\udc00"}', "surrogate"),
        (b'\xef\xbb\xbf{"a":1}', "byte order mark"),
        (b'{"a":1,"a":2}', "has the key 'a' twice"),
        (b'{"a":1,"b":{"c":1,"c":1}}', "has the key 'c' twice"),
        (b'{"a":1,"a" :2}', "has the key 'a' twice"),
        (b'{"a":1,"a"\t:2}', "has the key 'a' twice"),
        (b'{"a":1,"\\u0061":2}', "has the key 'a' twice"),
        (b'{"a":"\\u003a","a":"\\u003a"}', "has the key 'a' twice"),
        (b'{"a":%b%b}' % (b"[" * 260, b"]" * 260), "nested too deeply"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "depth"),
    ],
)
def test_what_parsers_would_read_in_different_ways_is_no_record(raw, reason):
    assert reason in (fault_of(raw) or "")


keys = st.text(alphabet='a":\\ ', max_size=2)
values = st.recursive(
    st.one_of(st.integers(), st.text(alphabet='a":\\ {', max_size=4)),
    lambda inner: st.lists(inner, max_size=2) | st.lists(st.tuples(keys, inner), max_size=3),
    max_leaves=6,
)


def written(value, colon):
    """Write nested pairs as JSON that may repeat keys; a list of pairs is an object."""
    if isinstance(value, list) and all(isinstance(item, tuple) for item in value):
        pairs = (f"{json.dumps(key)}{colon}{written(inner, colon)}" for key, inner in value)
        return f"{{{','.join(pairs)}}}"
    if isinstance(value, list):
        return f"[{','.join(written(inner, colon) for inner in value)}]"
    return json.dumps(value)


def repeats(value):
    if not isinstance(value, list):
        return False
    if all(isinstance(item, tuple) for item in value):
        names = [key for key, _ in value]
        return len(set(names)) < len(names) or any(repeats(inner) for _, inner in value)
    return any(map(repeats, value))


@given(st.lists(st.tuples(keys, values), max_size=4), st.sampled_from([":", ": ", " :", "\t:"]))
def test_a_repeated_key_is_found_however_it_is_spaced_and_nested(pairs, colon):
    fault = fault_of(written(pairs, colon).encode())

    assert bool(fault and fault.endswith("twice")) == repeats(pairs)


GOOD = b'{"a":1}'
MARK = b'"2f1c97b0d3e84a56"'


@pytest.mark.parametrize(
    "raws",
    [
        [GOOD] * 5,
        [GOOD],
        [],
        [GOOD, b"[]", GOOD],
        [GOOD, b"", GOOD],
        [b'{"a":1', b'"b":2}', b'{"c":1},{"d":2}'],
        [b'{"a":[1', b"2]}", GOOD + b"," + GOOD],
        [b'{"a":"x', b'y"}', GOOD + b"," + MARK + b"," + GOOD],
        [GOOD + b"],[" + GOOD, GOOD],
        [GOOD, b'{"a":1,"a":2}', GOOD],
        [b'{"a":"\\u003a"}', b'{"a":1,"a":2}', b'{"b":":"}'],
        [GOOD, b'{"a":%b%b}' % (b"[" * 253, b"]" * 253), GOOD],
        [MARK, GOOD, MARK],
    ],
)
def test_records_checked_together_are_judged_as_each_one_alone(raws):
    assert faults_of(raws) == [fault_of(raw) for raw in raws]


pieces = st.sampled_from(
    [b"{", b"}", b"[", b"]", b",", b'"a":1', b'"a"', b":", b"1", GOOD, GOOD, GOOD, b"\\u003a"]
)


@given(st.lists(st.lists(pieces, min_size=1, max_size=4).map(b"".join), max_size=6))
def test_no_lines_make_each_other_good(raws):
    assert faults_of(raws) == [fault_of(raw) for raw in raws]
