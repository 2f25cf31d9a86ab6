"""Many records rendered at once: to the same creates as one by one, or not at all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Rejected
from injector.manifest import Record, compile_request, load_manifest
from injector.wire import MAX_TASK_SIZE

QUEUES = tuple(f"projects/p/locations/l/queues/q-{n}" for n in range(7))
NOW = 1_800_000_000.0
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.lists(st.integers() | st.text(max_size=3), max_size=3)
    | st.dictionaries(st.text(max_size=3), st.integers(), max_size=2)
)
PLAIN = st.from_regex(r"[a-z0-9._~-]{1,8}", fullmatch=True) | st.text("ab/, \"'é\0", max_size=4)
ONE_KIND = st.sampled_from([PLAIN, st.integers(), VALUES])
RECORDS = ONE_KIND.flatmap(
    lambda kind: st.lists(
        st.fixed_dictionaries({"a": kind}, optional={"b": VALUES, "at": st.integers(0, 2 * 10**9)}),
        min_size=1,
        max_size=8,
    )
)
SHAPES = [
    "http: {url: 'https://t.example/{a}/x'}}\nidentity: {field: a}",
    "http: {url: 'https://t.example/{a}/x'}}\nidentity: {field: a}\ncreate_mode: batch",
    "http: {url: 'https://t.example/x?q={a}'}}\nidentity: content",
    "http: {url: 'https://t.example/{a}/{b}'}}",
    "http: {url: 'https://t.example{?b}'}}\ncreate_mode: batch",
    "http: {url: '{+a}'}}\nidentity: {field: b}",
    "http: {url: 'https://t.example', headers: {X-A: 'a {a}'}, body: {n: '{b}'}}}",
    "http: {url: 'https://t.example', body: none}, schedule: {field: at}}",
]
BY_FIELD = "http: {url: 'https://t.example/{a}'}}\nidentity: {field: a}"


def renderer_of(task, size=MAX_TASK_SIZE):
    manifest = load_manifest(f"job: j\ngroup: g\nrecords: r\ntask: {{{task}\n", source="m.yaml")
    return compile_request(manifest, QUEUES, max_task_size=size)


def records_of(values, first=0, origins=()):
    return [
        Record(first + n, first + n + 1, json.dumps(value).encode(), "", origin)
        for n, (value, origin) in enumerate(zip(values, origins or [-1] * len(values), strict=True))
    ]


def one_by_one(renderer, records):
    try:
        return [renderer.create(record, now=NOW) for record in records]
    except Rejected:
        return None


def together(renderer, records):
    try:
        return renderer.create_all(records, now=NOW)
    except Rejected:
        return None


@pytest.mark.parametrize("task", SHAPES)
@given(RECORDS, st.integers(0, 300))
def test_together_they_are_what_each_is_alone(task, values, first):
    renderer, records = renderer_of(task), records_of(values, first)
    assert together(renderer, records) == one_by_one(renderer, records)


@pytest.mark.parametrize("more", ["", "\ncreate_mode: batch"])
@given(st.lists(st.integers(-1, 1000), min_size=1, max_size=8))
def test_records_that_are_sent_again_keep_their_places_together_too(more, origins):
    renderer = renderer_of(BY_FIELD + more)
    records = records_of([{"a": f"k{n}"} for n in range(len(origins))], 95, origins)
    assert together(renderer, records) == one_by_one(renderer, records)


@given(st.lists(st.integers(0, 700), min_size=1, max_size=6), st.integers(700, 1500))
def test_largest_of_them_is_counted_as_it_is_alone(sizes, limit):
    renderer = renderer_of(BY_FIELD, size=limit)
    records = records_of([{"a": n, "fill": "x" * size} for n, size in enumerate(sizes)])
    assert together(renderer, records) == one_by_one(renderer, records)


def test_awkward_bytes_reject_all_or_none():
    renderer = renderer_of(BY_FIELD)
    good, bad = Record(0, 1, b'{"a":"x"}'), Record(1, 2, b'{"a":"\xff"}')
    assert len(renderer.create_all([good], now=NOW)) == 1
    with pytest.raises(Rejected):
        renderer.create_all([good, bad], now=NOW)
