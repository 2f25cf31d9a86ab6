"""YAML as people write it: each fault is told in one line, with its place."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused, NotFound
from injector.manifest import load_manifest
from tests.manifests import SHORT, WHOLE, complaints, only, read


def test_duplicate_keys_name_both_lines():
    assert only(SHORT + "group: h\n") == (
        "m.yaml:5:1: key 'group' is given twice, first in line 2; keep one"
    )


def test_duplicate_blocks_name_both_lines():
    text = SHORT.replace("task: {http", "task:\n  http: {url: 'https://a.example/'}\ntask: {http")
    assert "key 'task' is given twice, first in line 4" in only(text)


def test_duplicate_key_inside_a_merged_mapping_is_found():
    text = SHORT.replace(
        'task: {http: {url: "https://t.example/"}}',
        "task:\n  http:\n    url: https://t.example/\n    headers:\n"
        "      <<: {X-A: a, X-A: b}\n      X-B: c\n",
    )
    assert only(text) == "m.yaml:8:20: key 'X-A' is given twice, first in line 8; keep one"


def test_merge_gives_what_the_mapping_does_not_have_itself():
    text = SHORT.replace(
        'task: {http: {url: "https://t.example/"}}',
        "task:\n  http:\n    url: https://t.example/\n    headers:\n"
        "      <<: [{X-A: a, X-B: b}, {X-B: lost}]\n      X-A: own\n",
    )
    assert read(text).task.http.headers == {"X-A": "own", "X-B": "b"}


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("max_dispaches: 5", "did you mean 'max_dispatches_per_second'?"),
        ("weigth: 5", "did you mean 'weight'?"),
        ("max_burst_size: 5", "is output only"),
        ("queues: q", "belongs to the group's configuration"),
        ("url: x", "it belongs in task.http"),
        ("zzz: 1", "keys here are job, group, records"),
    ],
)
def test_unknown_key_is_refused_with_the_nearest_or_where_it_belongs(key, words):
    line = only(SHORT + key + "\n")
    assert line.startswith("m.yaml:5:1: unknown key")
    assert words in line


def test_unknown_key_deep_down_is_compared_with_the_keys_there():
    line = only(SHORT.replace("url:", "metod: POST, url:"))
    assert line == "m.yaml:4:15: unknown key 'metod'; did you mean 'method'?"


def test_all_errors_of_a_file_are_told_at_once_in_the_order_of_lines():
    lines = complaints("job: no\ngroup: 5\nrecords: r\nextra: 1\nweight: .nan\n")
    assert [line.split(":")[1] for line in lines] == ["1", "1", "2", "4", "5"]
    assert "needs 'task', or 'message' where the group is a topic; add it" in lines[1]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "job: j\ntask:\n\thttp: x\n",
            (
                "m.yaml:3:1: found character '\\t' that cannot start any token; "
                "replace the tab by spaces"
            ),
        ),
        (
            "job: j\t# which\n",
            (
                "m.yaml:1:7: found character '\\t' that cannot start any token; "
                "replace the tab by spaces"
            ),
        ),
        ("", "m.yaml:1:1: the file is empty; it must hold keys with values, such as job: NAME"),
        (
            "# nothing\n",
            "m.yaml:1:1: the file is empty; it must hold keys with values, such as job: NAME",
        ),
        (
            "- job: j\n",
            "m.yaml:1:1: the file holds a list; it must hold keys with values, such as job: NAME",
        ),
        (
            "job\n",
            (
                "m.yaml:1:1: the file holds a single value; "
                "it must hold keys with values, such as job: NAME"
            ),
        ),
        ("job: a\x00b\n", "m.yaml:1:7: character '\\x00' is not allowed; take it out"),
        (
            "job: a: b\n",
            (
                "m.yaml:1:7: mapping values are not allowed here; "
                "quote the value, or put the key on its own line"
            ),
        ),
    ],
)
def test_what_is_no_mapping_gets_one_line_with_place_cause_and_remedy(text, line):
    assert only(text) == line


@pytest.mark.parametrize(
    "text",
    ["job: [a\n", 'job: "a\n', "job: *a\n", "a: b\n c: d\n", "job: @x\n"],
)
def test_broken_yaml_gets_one_place_and_a_remedy(text):
    assert "; " in complaints(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        "job: &a\n  - *a\n",
        "job: &a\n  <<: *a\n",
        "job: " + "[" * 600 + "]" * 600,
        "l0: &l0 {a: a}\n"
        + "".join(f"l{n}: &l{n} {{<<: [{', '.join([f'*l{n - 1}'] * 9)}]}}\n" for n in range(1, 9)),
    ],
)
def test_yaml_that_holds_itself_or_goes_too_deep_is_refused(text):
    assert complaints(text)


def test_several_documents_in_a_file_are_refused():
    assert "keep one document per file" in only(SHORT + "---\n" + SHORT)


def test_tags_of_other_tools_are_refused():
    assert "tag !env is not known here" in only(SHORT.replace("group: g", "group: !env GROUP"))


def test_key_that_parsers_read_as_a_boolean_needs_quotes():
    assert "key 'no' reads as a boolean" in only(SHORT + "types: {no: integer}\n")


def test_aliases_that_multiply_are_refused_in_bounded_time():
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 9))
    assert any(
        "too large or too deep once its aliases are followed" in line
        for line in complaints("l0: &l0 [a, a]\n" + levels)
    )


@pytest.mark.parametrize("start", ["\ufeff", ""])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_byte_order_mark_and_line_ends_do_not_matter(tmp_path, start, line_end):
    path = tmp_path / "m.yaml"
    path.write_bytes((start + WHOLE).replace("\n", line_end).encode())
    assert load_manifest(path) == read(WHOLE)


def test_places_are_right_after_a_byte_order_mark_and_windows_line_ends(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(("\ufeff" + SHORT + "zzz: 1\n").replace("\n", "\r\n").encode())
    with pytest.raises(Misused, match=r"m\.yaml:5:1: unknown key"):
        load_manifest(path)


def test_missing_file_says_so(tmp_path):
    with pytest.raises(NotFound, match=r"nowhere\.yaml: there is no such file; check the path"):
        load_manifest(tmp_path / "nowhere.yaml")


def test_directory_says_so(tmp_path):
    with pytest.raises(Misused, match="is a directory; name the file in it"):
        load_manifest(tmp_path)


def test_other_encodings_are_refused_with_place_and_remedy(tmp_path):
    path = tmp_path / "m.yaml"
    path.write_bytes(b"job: j\ngroup: caf\xe9\n")
    with pytest.raises(Misused, match=r"m\.yaml:2:11: byte 0xe9 is not UTF-8; save the file as"):
        load_manifest(path)


@given(st.binary(max_size=200))
def test_no_bytes_make_the_reader_fail_otherwise_than_by_refusal(tmp_path_factory, written):
    path = tmp_path_factory.getbasetemp() / f"any-{os.getpid()}.yaml"
    path.write_bytes(written)
    with pytest.raises(Misused):
        load_manifest(path)
