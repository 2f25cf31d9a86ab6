import gzip
import io
import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused, NotFound
from injector.staging import Limits, Source, stage
from tests.moving_clock import MovingClock
from tests.stagings import (
    NOW,
    PLAIN,
    bad,
    bodies,
    fault_of_staging,
    manifest,
    read_all,
    stage_bytes,
    stage_path,
)

PACKINGS = {
    "plain": lambda content: content,
    "gzip": gzip.compress,
    "zstd": lambda content: zstandard.ZstdCompressor().compress(content),
}


def jsonl(count, start=0):
    return b"".join(b'{"id":%d}\n' % number for number in range(start, start + count))


def test_chunks_hold_a_hundred_records_each_and_the_last_one_the_rest(tmp_path):
    staged = stage_bytes(tmp_path, jsonl(250))

    assert (staged.records, staged.chunks, staged.rejected) == (250, 3, 0)
    assert [record.ordinal for record in read_all(staged)] == list(range(250))
    assert bodies(staged) == jsonl(250).splitlines()


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz", "r.JSONL.zst", "r.csv", "r.csv.gz"])
def test_what_a_file_is_packed_in_is_told_by_its_content_not_its_name(tmp_path, packing, name):
    content = b"id\n7\n8\n" if ".csv" in name else b'{"id":"7"}\n{"id":"8"}\n'

    staged = stage_bytes(tmp_path, PACKINGS[packing](content), name)

    assert bodies(staged) == [b'{"id":"7"}', b'{"id":"8"}']


def test_numbers_reach_the_body_with_the_text_they_have_in_the_source(tmp_path):
    line = b'{"a":9007199254740993, "b":1.0,"c":1e2,"d":653247040368672768 }'

    for in_place in (True, False):
        assert bodies(stage_bytes(tmp_path, line, in_place=in_place)) == [line]


lines = st.lists(
    st.sampled_from([b'{"a":"\xc3\xa9"}', b'{"b":1}', b"", b"  ", b"[]", b'{"cut":', b"{}x"]),
    min_size=1,
    max_size=12,
).filter(lambda found: any(line.strip() for line in found))


cuts = st.tuples(
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    st.sampled_from([1, 2, 3, 64]),
    st.sampled_from(list(PACKINGS)),
    st.booleans(),
)


@given(lines, cuts)
def test_records_and_lines_are_the_same_for_every_block_size_packing_and_layout(
    tmp_path_factory, found, cut
):
    ending, size, packing, in_place = cut
    folder = tmp_path_factory.mktemp("s")
    content = PACKINGS[packing](ending.join(found))

    staged = stage_bytes(folder, content, in_place=in_place, limits=Limits(block_bytes=size))

    numbered = [(number, line) for number, line in enumerate(found, 1) if line.strip()]
    records = read_all(staged)
    assert [record.line for record in records] == [number for number, _ in numbered]
    good = [line for _, line in numbered if line.endswith(b"}")]
    assert bodies(staged) == good
    assert staged.rejected == len(numbered) - len(good)


@pytest.mark.parametrize("content", [b"\n", b'{"a":1}\n\n   \n{"b":2}\n\n\n\n', b'{"a":1}'])
def test_blank_lines_are_no_records_and_a_last_line_needs_no_end(tmp_path, content):
    staged = stage_bytes(tmp_path, content, allow_empty=True)

    expected = [line.strip() for line in content.splitlines() if line.strip()]
    assert bodies(staged) == expected
    assert staged.records == len(expected)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        *[("r.jsonl", content) for content in (b"", b"\n", b"\r\n\n", b"\xef\xbb\xbf")],
        *[("r.csv", content) for content in (b"", b"\n", b"\r\n\n", b"\xef\xbb\xbf", b"id\n")],
    ],
)
def test_a_source_without_records_is_refused_unless_that_is_allowed(tmp_path, content, name):
    assert "0 records" in fault_of_staging(tmp_path, content, name)

    assert stage_bytes(tmp_path, content, name, allow_empty=True).chunks == 0


def test_each_bad_line_is_listed_with_its_physical_line_and_stops_no_other(tmp_path):
    rows = [b'{"n":%d}' % number for number in range(1, 11)]
    rows[3], rows[6], rows[8] = b"[]", b'{"a":1}{"b":2}', b'{"n":'

    for in_place in (True, False):
        staged = stage_bytes(tmp_path, b"\n".join(rows), in_place=in_place)

        assert [line for line, _ in bad(staged)] == [4, 7, 9]
        assert bad(staged) == [(reject.line, reject.reason) for reject in staged.rejects]
        assert [reject.ordinal for reject in staged.rejects] == [3, 6, 8]
        assert (staged.records, staged.rejected, len(bodies(staged))) == (10, 3, 7)


def test_the_first_bad_record_ends_a_staging_that_was_told_to_stop(tmp_path):
    content = b'{"a":1}\n\n[]\n{"b":2}\n'

    message = fault_of_staging(tmp_path, content, on_error="stop")

    assert message.startswith("r.jsonl line 3: is an array, not a JSON object")


def test_only_so_many_rejects_are_listed_but_all_are_counted(tmp_path):
    staged = stage_bytes(tmp_path, b"[]\n" * 50, limits=Limits(kept_rejects=7))

    assert (staged.rejected, len(staged.rejects), len(bad(staged))) == (50, 7, 50)


def test_a_record_that_cannot_be_rendered_is_rejected_with_the_reason(tmp_path):
    job = manifest(url="https://w.example/{user}")
    content = b'{"user":"a"}\n{"user":null}\n{"other":1}\n{"user":7}\n'

    staged = stage_bytes(tmp_path, content, job=job, in_place=False)

    assert [line for line, reason in bad(staged) if "'user'" in reason] == [2, 3]
    assert staged.rejected == 2


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"user":1,"na me":2}', "needs a value in 'id'; its fields are 'user', 'na me'"),
        (b'{"id":null,"user":1}', "needs a value in 'id'"),
        (b"{}", "needs a value in 'id'; it has no fields"),
        (
            json.dumps({f"{n}{'x' * 50}": n for n in range(10)}).encode(),
            "needs a value in 'id'; its fields are "
            + ", ".join(repr(f"{n}{'x' * 39}") for n in range(8))
            + " and 2 more",
        ),
    ],
)
def test_a_record_that_lacks_a_field_is_told_with_the_fields_that_it_has(tmp_path, content, reason):
    staged = stage_bytes(tmp_path, content, job=manifest(url="https://w.example/{id}"))
    (bad,) = staged.rejects
    assert (bad.line, bad.reason) == (1, reason)


@pytest.mark.parametrize("size", [1_100_000, 9_000_000])
@pytest.mark.parametrize("in_place", [True, False])
def test_a_record_that_is_too_large_is_rejected_and_its_neighbours_are_not(
    tmp_path, size, in_place
):
    content = b'{"a":1}\n{"big":"%b"}\n{"a":2}\n' % (b"x" * size)

    staged = stage_bytes(tmp_path, content, in_place=in_place)

    assert [(reject.ordinal, reject.line) for reject in staged.rejects] == [(1, 2)]
    assert {b'{"a":1}', b'{"a":2}'} <= set(bodies(staged))


def test_a_record_due_too_late_is_listed_but_judged_again_when_it_is_created(tmp_path):
    job = manifest(more="schedule: {field: at}")
    hours = 3600
    content = b'{"at":%d}\n{"at":%d}\n{"at":"2026-02-30T00:00:00Z"}\n' % (
        NOW + 719 * hours,
        NOW + 721 * hours,
    )

    staged = stage_bytes(tmp_path, content, job=job, in_place=False)

    assert [reject.line for reject in staged.rejects] == [2, 3]
    assert "720 h" in staged.rejects[0].reason
    assert [line for line, _ in bad(staged)] == [3]


def test_a_reason_is_kept_on_one_line_whatever_the_record_holds(tmp_path):
    job = manifest(url="{+url}")
    content = b'{"url":"ftp://a\\n\\tb\\u2028c"}\n{"url":"https://a.example/"}\n'

    staged = stage_bytes(tmp_path, content, job=job, in_place=False)

    assert [line for line, _ in bad(staged)] == [1]
    assert len(bodies(staged)) == 1


def test_several_files_are_read_in_order_of_their_names_with_lines_of_their_own(tmp_path):
    (tmp_path / "b.jsonl").write_bytes(b'{"n":3}\n[]\n')
    (tmp_path / "a.jsonl").write_bytes(b'\n{"n":1}\n{"n":2}')
    (tmp_path / "c.csv").write_bytes(b"n\n4\n")
    (tmp_path / "c.csv.d").mkdir()

    staged = stage_path(tmp_path, "[abc].*")

    assert bodies(staged) == [b'{"n":1}', b'{"n":2}', b'{"n":3}', b'{"n":"4"}']
    assert [record.line for record in read_all(staged)] == [2, 3, 1, 2, 2]
    assert [Path(record.file).name for record in read_all(staged)] == [
        *(["a.jsonl"] * 2),
        *(["b.jsonl"] * 2),
        "c.csv",
    ]
    assert read_all(staged)[3] == staged.rejects[0]


def test_a_name_with_the_marks_of_a_glob_is_taken_as_it_is_if_it_is_there(tmp_path):
    assert bodies(stage_bytes(tmp_path, b'{"n":1}', "r[1].jsonl")) == [b'{"n":1}']


def test_standard_input_is_read_when_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"n":1}\r{"n":2}')))

    staged = stage(Source("-"), PLAIN, str(tmp_path), clock=MovingClock())

    assert bodies(staged) == [b'{"n":1}', b'{"n":2}']
    assert not sys.stdin.closed


def test_a_source_may_be_any_url(tmp_path):
    (tmp_path / "r.csv").write_text("n\n1\n")

    staged = stage(
        Source(f"file://{tmp_path}/r.csv"), PLAIN, f"file://{tmp_path}/s", clock=MovingClock()
    )

    assert bodies(staged) == [b'{"n":"1"}']


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("nowhere.jsonl", "no such file"),
        ("*.nothing", "matches no file"),
        ("nope://a/b.jsonl", "Protocol not known"),
        (".", "is a folder"),
    ],
)
def test_a_location_that_leads_nowhere_is_refused(tmp_path, monkeypatch, location, message):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(Misused, match=message) as caught:
        stage(Source(location), PLAIN, str(tmp_path / "s"), clock=MovingClock())

    assert isinstance(caught.value, NotFound) == ("no" in message.split())


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"PK\x03\x04" + b"\0" * 60, "r.csv", "r.csv: is a zip archive, as .xlsx files are"),
        (gzip.compress(b"PK\x03\x04" + b"\0" * 60, mtime=0), "r.csv", "is a zip archive"),
        (b"BZh91AY&SY", "r.jsonl.bz2", "bzip2"),
        (b"\xfd7zXZ\0", "r.jsonl", "xz"),
        (b"PAR1....PAR1", "r.csv", "is Parquet, not csv"),
        (b"\xff\xfei\0d\0\n\0", "r.csv", "`encoding: utf-16`"),
        (b"id\n\xe1\n", "r.csv", "r.csv line 2: byte 3 of the text (0xe1) is not UTF-8"),
        (b'[\n  {"a":1},\n  {"a":2}\n]\n', "r.jsonl", "is one JSON array"),
        (b"id,name\n1,a", "records", "has no suffix that tells its format"),
        (b"id,name,id\n1,2,3\n", "r.csv", "'id' (column 1) and 'id' (column 3)"),
        (b'id,name\n1,"a\n2,b\n3,c', "r.csv", "r.csv line 2: a quote"),
    ],
)
def test_what_is_wrong_with_a_whole_file_leaves_nothing_behind(tmp_path, content, name, message):
    assert message in fault_of_staging(tmp_path, content, name)


@pytest.mark.parametrize("name", ["r.jsonl", "r.csv"])
def test_a_byte_that_fits_no_utf_8_late_in_the_file_is_a_fault_with_line_and_offset(tmp_path, name):
    row = b'{"n":"a"}\n' if name == "r.jsonl" else b"a\n"
    content = (b"" if name == "r.jsonl" else b"n\n") + row * 900 + b"\xe9\n" + row

    message = fault_of_staging(tmp_path, content, name, limits=Limits(block_bytes=64))

    line, offset = (901 if name == "r.jsonl" else 902), content.index(b"\xe9")
    assert f"{name} line {line}: byte {offset:,} of the text (0xe9)" in message
    assert "nothing is registered" in message


def test_a_gzip_that_is_cut_off_tells_how_many_records_came_before(tmp_path):
    packed = gzip.compress(jsonl(1000))[:-4]

    message = fault_of_staging(tmp_path, packed, limits=Limits(block_bytes=64))

    assert "r.jsonl: the gzip data is cut off before its end" in message
    assert "(after 1,000 records; nothing is registered)" in message


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
@pytest.mark.parametrize(
    ("encoding", "text"), [("latin-1", "á"), ("cp1252", "“a”"), ("utf-16", "名"), ("utf-8", "é")]
)
def test_a_declared_encoding_reaches_the_records_as_utf_8(tmp_path, name, encoding, text):
    row = f"n\n{text}\n" if name == "r.csv" else f'{{"n":"{text}"}}\n'

    staged = stage_bytes(tmp_path, row.encode(encoding), name, encoding=encoding)

    assert [json.loads(body) for body in bodies(staged)] == [{"n": text}]


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl"])
def test_a_byte_order_mark_changes_nothing(tmp_path, name):
    row = b'"n"\n1\n' if name == "r.csv" else b'{"n":"1"}\n'

    for mark in (b"", b"\xef\xbb\xbf"):
        assert bodies(stage_bytes(tmp_path, mark + row, name)) == [b'{"n":"1"}']


def test_a_byte_order_mark_in_mid_file_is_reported_by_its_line(tmp_path):
    mark = b"\xef\xbb\xbf"

    assert [line for line, _ in bad(stage_bytes(tmp_path, b'{"n":1}\n' + mark + b'{"n":2}\n'))] == [
        2
    ]
    assert [
        line for line, _ in bad(stage_bytes(tmp_path, b"n\n1\n" + mark + b"n\n2\n", "r.csv"))
    ] == [3]


def test_types_of_columns_are_taken_from_the_source(tmp_path):
    content = b"id,age,name\n007,41,a\n008,x,b\n"

    staged = stage_bytes(tmp_path, content, "r.csv", types={"age": "integer"})

    assert bodies(staged) == [b'{"id":"007","age":41,"name":"a"}']
    assert bad(staged) == [(3, "column 'age': 'x' is not an integer such as 17")]


def test_types_of_columns_are_refused_where_there_are_none(tmp_path):
    assert "`types` are for the columns of a CSV" in fault_of_staging(
        tmp_path, b'{"age":1}', types={"age": "integer"}
    )


def test_a_csv_without_a_column_that_the_manifest_uses_is_refused_as_a_whole(tmp_path):
    (tmp_path / "r.csv").write_text("id\n1\n")

    with pytest.raises(Misused, match="has no column 'user_id'"):
        stage_path(tmp_path, "r.csv", manifest(url="https://w.example/{user_id}"))


def test_progress_tells_bytes_records_and_rejects_up_to_the_end(tmp_path):
    content = jsonl(1000) + b"[]\n"
    (tmp_path / "r.jsonl").write_bytes(content)
    seen = []
    clock = MovingClock()

    def note(progress):
        seen.append(progress)
        clock.sleep(1)

    source = Source(str(tmp_path / "r.jsonl"), limits=Limits(block_bytes=500))
    stage(source, PLAIN, str(tmp_path / "s"), clock=clock, progress=note)

    assert len(seen) > 2
    assert all(one.records <= other.records for one, other in pairwise(seen))
    assert {progress.bytes_total for progress in seen} == {len(content)}
    last = seen[-1]
    assert (last.bytes_read, last.records, last.rejected) == (len(content), 1001, 1)


def test_the_same_bytes_under_another_name_are_staged_under_that_name(tmp_path):
    first = stage_bytes(tmp_path, b"id\n1\n", "a.csv")
    assert stage_bytes(tmp_path, b"id\n1\n", "a.csv") == first
    other = stage_bytes(tmp_path, b"id\n1\n", "b.csv")
    assert other.store != first.store
    assert [record.file.rsplit("/", 1)[-1] for record in read_all(other)] == ["b.csv"]
