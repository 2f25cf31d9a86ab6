"""Records of a job that are sent again as another job's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from injector.errors import Misused
from injector.manifest import Record, compile_request
from injector.staging import ChunkReader, Pick, stage_again
from tests.moving_clock import MovingClock
from tests.stagings import manifest, read_all, stage_bytes, stage_path

QUEUES = tuple(f"projects/p/locations/l/queues/q-{n}" for n in range(7))
CHILD = manifest(job="job-2")


def again(staged, picks, folder, job=CHILD):
    return stage_again(
        ChunkReader(staged.store), picks, job, str(folder / "store"), clock=MovingClock()
    )


def picks_of(ordinals):
    masks = {}
    for ordinal in sorted(ordinals):
        masks[ordinal // 100] = masks.get(ordinal // 100, 0) | 1 << ordinal % 100
    return [Pick(chunk, mask) for chunk, mask in masks.items()]


@given(st.sets(st.integers(0, 349), min_size=1))
def test_picked_records_keep_their_bytes_lines_and_names(tmp_path_factory, ordinals):
    folder = tmp_path_factory.mktemp("again")
    staged = stage_bytes(folder, b"".join(b'{"n":%d}\n' % n for n in range(350)))
    child, passed_over = again(staged, picks_of(ordinals), folder)
    first = [record for record in read_all(staged) if record.ordinal in ordinals]
    second = read_all(child)
    assert passed_over == 0
    assert (child.records, child.chunks) == (len(ordinals), -(-len(ordinals) // 100))
    assert [(r.line, r.raw) for r in second] == [(r.line, r.raw) for r in first]
    assert [r.ordinal for r in second] == list(range(len(ordinals)))
    assert [r.origin for r in second] == sorted(ordinals)
    as_before = compile_request(CHILD, QUEUES, named_after="job-1")
    original = compile_request(manifest(job="job-1"), QUEUES)
    assert [as_before.name(r) for r in second] == [original.name(r) for r in first]
    new_names = compile_request(CHILD, QUEUES)
    assert {new_names.name(r) for r in second}.isdisjoint(original.name(r) for r in first)


def test_records_of_a_third_job_still_know_their_first_place(tmp_path):
    staged = stage_bytes(tmp_path, b"".join(b'{"n":%d}\n' % n for n in range(350)))
    child, _ = again(staged, picks_of([7, 150, 349]), tmp_path)
    third, _ = again(child, [Pick(0, 0b110)], tmp_path, manifest(job="job-3"))
    assert [(r.ordinal, r.origin) for r in read_all(third)] == [(0, 150), (1, 349)]


def test_records_keep_their_files(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"n":0}\n')
    (tmp_path / "b.jsonl").write_bytes(b'{"n":1}\n{"n":2}\n')
    several = stage_path(tmp_path, "*.jsonl")
    child, _ = again(several, [Pick(0, 0b101)], tmp_path)
    assert [(r.file.rsplit("/", 1)[-1], r.line) for r in read_all(child)] == [
        ("a.jsonl", 1),
        ("b.jsonl", 2),
    ]


def test_lines_that_were_no_record_are_passed_over(tmp_path):
    staged = stage_bytes(tmp_path, b'{"n":0}\nnonsense\n{"n":2}\n')
    child, passed_over = again(staged, [Pick(0, 0b111)], tmp_path)
    assert (child.records, passed_over) == (2, 1)
    with pytest.raises(Misused, match="none of these records can be sent again"):
        again(staged, [Pick(0, 0b010)], tmp_path, manifest(job="job-4"))


def test_records_are_tried_against_the_new_manifest(tmp_path):
    staged = stage_bytes(tmp_path, b'{"n":0}\n{"id":1}\n')
    edited = manifest(job="job-2", url="https://w.example/{id}")
    child, _ = again(staged, [Pick(0, 0b11)], tmp_path, edited)
    bad, good = read_all(child)
    assert bad.reason == "needs a value in 'id'; its fields are 'n'"
    assert (child.rejected, child.rejects[0].line) == (1, 1)
    assert isinstance(good, Record)


def test_the_same_choice_again_is_the_same_staging(tmp_path):
    staged = stage_bytes(tmp_path, b'{"n":0}\n{"n":1}\n')
    first, _ = again(staged, [Pick(0, 0b10)], tmp_path)
    second, _ = again(staged, [Pick(0, 0b10)], tmp_path)
    other, _ = again(staged, [Pick(0, 0b01)], tmp_path)
    assert first == second
    assert [each.is_new for each in (first, second, other)] == [True, False, True]
    assert other.digest != first.digest
