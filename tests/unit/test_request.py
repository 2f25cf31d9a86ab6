"""Records rendered into creates."""

import json
import time
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from google.cloud import tasks_v2
from hypothesis import given
from hypothesis import strategies as st

from injector.delivery.ports import Token
from injector.errors import Rejected
from injector.manifest import Record, compile_request, load_manifest
from injector.naming import draw_of, draw_of_chunk, task_id
from injector.pacing.ramp import Ramp
from injector.wire import MAX_TASK_SIZE, create_task_request, task_size

QUEUES = tuple(f"projects/p/locations/l/queues/q-{n}" for n in range(7))
NOW = 1_800_000_000.0
HOUR = 3600.0
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def renderer(
    http="", task="", extra="", *, url="https://t.example/x", size=MAX_TASK_SIZE, ramp=None
):
    manifest = load_manifest(
        f"job: j\ngroup: g\nrecords: r\ntask: {{http: {{url: '{url}'{http}}}{task}}}\n{extra}",
        source="m.yaml",
    )
    return compile_request(manifest, QUEUES, max_task_size=size, ramp=ramp)


def create(renderer, record, now=NOW, ordinal=0):
    raw = record if isinstance(record, bytes) else json.dumps(record, ensure_ascii=False).encode()
    return renderer.create(Record(ordinal, ordinal + 1, raw), now=now)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"id": 653247040368672768, "x": 1.0, "y": 1e2}',
        '{"name": "ñ☃", "escaped": "\\u00f1"}'.encode(),
        b'{ "spaces" :  [ 1 ,2 ] }',
        b"{}",
    ],
)
def test_body_is_the_record_byte_for_byte_and_reaches_the_wire_so(raw):
    made = create(renderer(), raw)
    assert made.body == raw
    written = tasks_v2.CreateTaskRequest.deserialize(create_task_request(made))
    assert written.task.http_request.body == raw
    assert written.task.http_request.headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("http", "content_type"),
    [
        ("", "application/json"),
        (", body: {a: 1}", "application/json"),
        (", body: hello", "text/plain; charset=utf-8"),
        (", headers: {content-type: text/x}", "text/x"),
    ],
)
def test_content_type_is_what_the_body_is_unless_it_is_given(http, content_type):
    headers = {name.lower(): value for name, value in renderer(http).template.headers}
    assert headers == {"content-type": content_type}


def test_request_without_a_body_has_no_content_type():
    made = create(renderer(", method: GET"), {"a": 1})
    assert (made.body, made.template.headers, made.template.method) == (b"", (), "GET")


def test_json_template_takes_values_exactly_and_escapes_within_text():
    fill = renderer(
        """, body: {id: "{id}", all: ["{x}", 1, null], note: "for \\"{name}\\"", "é": 1}"""
    )
    made = create(fill, b'{"id": 1.0, "x": [1,  2], "name": "\\"N\\"\\n\\u00e9"}')
    assert made.body == (
        '{"id":1.0,"all":[[1,  2],1,null],"note":"for \\"\\"N\\"\\né\\"","é":1}'.encode()
    )


@given(JSON, st.text(max_size=8))
def test_json_template_is_json_whatever_the_record_holds(value, text):
    fill = renderer(', body: {whole: "{v}", part: "<{t}>"}')
    made = create(fill, {"v": value, "t": text})
    assert json.loads(made.body) == {"whole": value, "part": f"<{text}>"}


def test_missing_field_of_a_body_rejects_the_record():
    with pytest.raises(Rejected, match="needs a value in 'v'"):
        create(renderer(', body: {whole: "{v}"}'), {"w": 1})


def test_headers_are_filled_from_the_record_and_fixed_ones_are_shared():
    fill = renderer(", headers: {X-User: 'u-{id}', X-Campaign: c}")
    made = create(fill, {"id": 7})
    assert made.headers == (("X-User", "u-7"),)
    assert ("X-Campaign", "c") in made.template.headers


@pytest.mark.parametrize("value", ["a\r\nX-Admin: 1", "é", "\x00", "a\nb"])
def test_header_that_would_break_out_or_cannot_be_sent_rejects_the_record(value):
    with pytest.raises(Rejected, match="header X-User: a header cannot hold"):
        create(renderer(", headers: {X-User: '{id}'}"), {"id": value})


def test_headers_over_the_services_limit_reject_the_record():
    fill = renderer(", headers: {X-User: '{id}'}")
    create(fill, {"id": "x" * 80_000})
    with pytest.raises(Rejected, match="the headers have 81920 bytes or more"):
        create(fill, {"id": "x" * 82_000})


def test_url_over_the_services_limit_rejects_the_record():
    fill = renderer(url="https://t.example/{id}")
    create(fill, {"id": "x" * 2000})
    with pytest.raises(Rejected, match="the URL has 3018 characters, over 2083"):
        create(fill, {"id": "é" * 500})


def test_url_that_a_record_decides_must_be_absolute():
    fill = renderer(url="{+link}")
    assert create(fill, {"link": "https://a.example/b?c"}).url == "https://a.example/b?c"
    with pytest.raises(Rejected, match="does not begin with https:// or http://"):
        create(fill, {"link": "file:///etc/passwd"})


@pytest.mark.parametrize(
    ("identity", "record", "key", "suffix"),
    [
        ("index", {"id": "a"}, b"5", "5"),
        ("{field: id}", {"id": "a/b"}, b"a/b", "a/b"),
        ("{field: id}", {"id": 12}, b"12", "12"),
        ("content", {"b": 1, "a": "x"}, b'{"a":"x","b":1}', ""),
    ],
)
def test_name_and_queue_follow_the_records_identity(identity, record, key, suffix):
    made = create(renderer(extra=f"identity: {identity}\n"), record, ordinal=5)
    assert made.task_id == task_id("j", key, suffix)
    assert made.queue == QUEUES[draw_of("j", key) % len(QUEUES)]


@pytest.mark.parametrize("record", [{}, {"id": None}, {"id": ""}])
def test_record_without_its_identity_is_rejected(record):
    with pytest.raises(Rejected, match="needs a value in 'id'"):
        create(renderer(extra="identity: {field: id}\n"), record)


def test_batch_creates_keep_a_chunk_in_one_queue_under_the_same_names():
    single, batch = renderer(), renderer(extra="create_mode: batch\n")
    for chunk in (0, 3):
        made = [create(batch, {}, ordinal=100 * chunk + n) for n in range(100)]
        expected = QUEUES[draw_of_chunk("j", chunk) % len(QUEUES)]
        assert {one.queue for one in made} == {expected}
        assert made[7].task_id == create(single, {}, ordinal=100 * chunk + 7).task_id


@pytest.mark.parametrize("extra", ["", "create_mode: batch\n"])
def test_record_that_is_sent_again_keeps_its_queue_and_name(extra):
    fill = renderer(extra=extra)
    for place in range(0, 1400, 100):
        first = create(fill, {}, ordinal=place)
        again = Record(3, 4, b"{}", origin=place)
        made = fill.create(again, now=NOW)
        assert (made.queue, made.task_id) == (first.queue, first.task_id)
        assert fill.name(again) == (first.queue, first.task_id)


def record_of_size(fill, size):
    """Make the record whose task has exactly so many bytes."""
    empty = create(fill, b'{"a":""}')
    raw = b'{"a":"%b"}' % (b"x" * (size - task_size(empty) - 8))
    excess = task_size(create(renderer(size=10**9), raw)) - size
    return b'{"a":"%b"}' % (b"x" * (len(raw) - 8 - excess))


@pytest.mark.parametrize("limit", [102_400, 1_048_569])
def test_largest_task_is_taken_and_one_byte_more_is_rejected(limit):
    fill = renderer(size=limit)
    raw = record_of_size(fill, limit)
    assert task_size(create(fill, raw)) == limit
    with pytest.raises(Rejected, match=f"the task has {limit + 1} bytes, over the {limit}"):
        create(fill, raw.replace(b"x", b"xx", 1))


@pytest.mark.parametrize("letter", ["é", "😀"])
def test_size_counts_bytes(letter):
    text = letter * 90_000
    create(renderer(size=1_000_000), {"a": text})
    with pytest.raises(Rejected, match="bytes, over the 102400"):
        create(renderer(size=102_400), {"a": text})


def test_large_headers_count_too():
    fill = renderer(", body: none, headers: {X-A: '{a}'}", size=50_000)
    with pytest.raises(Rejected, match="bytes, over the 50000"):
        create(fill, {"a": "x" * 50_000})


@given(st.integers(0, 3000), st.booleans())
def test_check_rejects_exactly_what_create_rejects(length, with_field):
    fill = renderer(", headers: {X-A: '{a}'}", size=2000)
    record = Record(0, 1, json.dumps({"a" if with_field else "b": "x" * length}).encode())
    assert verdict(fill.check, record) == verdict(fill.create, record)


def verdict(render, record):
    try:
        render(record, now=NOW)
    except Rejected as error:
        return str(error)
    return ""


@pytest.mark.parametrize("raw", [b"[]", b"1", b'{"a":1', b"", b'{"a":NaN}', b'{"a":1}{"b":2}'])
def test_what_is_no_json_object_is_rejected(raw):
    with pytest.raises(Rejected, match="is not a JSON object"):
        create(renderer(), raw)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":"\xff"}',
        b'{"a":["\xff"]}',
        b'{"a":"\xed\xa0\x80"}',
        rb'{"a":"\ud800"}',
        b'{"a":[[1]]}',
    ],
)
@pytest.mark.parametrize("identity", ["index", "content", "{field: a}"])
def test_awkward_bytes_are_rejected_or_rendered_and_never_an_error(raw, identity):
    fill = renderer(
        ", headers: {X-A: '{a}'}, body: {b: '{a}', c: '-{a}'}",
        extra=f"identity: {identity}\n",
        url="https://t.example/{a}",
    )
    with suppress(Rejected):
        create(fill, raw)


def due(value, now=NOW):
    return create(renderer(task=", schedule: {field: due}"), {"due": value}, now).schedule_time


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize("value", [NOW - HOUR, 0, -1, NOW, "2026-11-30T00:00:00Z"])
def test_past_time_runs_at_once(value):
    assert due(value) is None


def test_time_within_720_hours_is_kept():
    assert due(NOW + 720 * HOUR - 60) == NOW + 720 * HOUR - 60


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (NOW + 720 * HOUR + 60, "is due in 720.0 h, over the 720 h"),
        ("9999-12-31T23:59:59Z", "over the 720 h that Cloud Tasks allows$"),
        (NOW * 1000, "it looks like milliseconds, give seconds"),
        ("1800000000000", "it looks like milliseconds, give seconds"),
        ("2030-01-01T09:00:00Z", "over the 720 h that Cloud Tasks allows$"),
        (1e300, "over the 720 h"),
        ("2026-02-30T00:00:00Z", "is not a time"),
        ("2026-02-30", "is not a time"),
        ("tomorrow", "is not a time"),
        ("2027-01-15T09:00:00", "has no time zone; add Z"),
        ("", "is not a time"),
        (None, "needs a value in 'due'"),
        (True, "is not a time"),
    ],
)
def test_time_that_cannot_be_rejects_its_record_alone(value, words):
    with pytest.raises(Rejected, match=words):
        due(value)


def test_limit_counts_from_the_create_and_not_from_an_earlier_look():
    late = NOW + 720 * HOUR + 60
    assert due(late, now=NOW + 120) == late


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_same_instant_whatever_the_machines_time_zone(monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        expected = utc("2027-01-15T09:00:00")
        for value in (
            "2027-01-15T09:00:00Z",
            "2027-01-15T09:00:00.000+00:00",
            "2027-01-15T11:00:00+02:00",
            "2027-01-15t04:00:00-05:00",
            expected,
            str(expected),
        ):
            assert due(value) == expected
    finally:
        monkeypatch.undo()
        time.tzset()


def test_job_that_starts_at_a_time_is_spread_from_there_on_the_groups_curve():
    start = datetime.fromtimestamp(NOW, UTC).isoformat()
    fill = renderer(task=f", schedule: {{at: '{start}'}}", ramp=Ramp(initial_rate=2.0))
    times = [
        create(fill, {}, now=NOW - 1, ordinal=n).schedule_time for n in (0, 200, 60_000, 60_300)
    ]
    assert times == pytest.approx([NOW, NOW + 1, NOW + 300, NOW + 301])


def test_oidc_audience_is_the_origin_of_the_url_by_default():
    fill = renderer(", oidc: {service_account: s@p.a}", url="https://svc.example:8443/run?x=1#f")
    assert fill.template.token == Token("oidc", "s@p.a", "https://svc.example:8443")


def test_renderer_names_the_fields_that_records_need():
    fill = renderer(
        ", headers: {X-A: '{a}'}, body: {b: '{b}'}",
        ", schedule: {field: c}",
        "identity: {field: d}\n",
    )
    assert fill.fields == ("b", "a", "d", "c")
