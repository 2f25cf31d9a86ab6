import json
import os
import signal
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest

from injector.errors import Conflict, Misused, NotFound
from injector.manifest.record import Record
from injector.staging import ChunkReader, Limits, Source, read_staged, stage
from tests.moving_clock import MovingClock
from tests.stagings import (
    PLAIN,
    bodies,
    manifest,
    read_all,
    stage_bytes,
    stage_path,
)
from tests.waiting import until

ROWS = b"".join(b'{"id":%d}\n' % number for number in range(1000))


@pytest.fixture(params=["in place", "copied", "several"])
def staged(request, tmp_path):
    """A thousand records: indexed where they lie, copied, and gathered from two files."""
    if request.param == "several":
        lines = ROWS.splitlines(keepends=True)
        (tmp_path / "a.jsonl").write_bytes(b"".join(lines[:450]))
        (tmp_path / "b.jsonl").write_bytes(b"".join(lines[450:]))
        return stage_path(tmp_path, "*.jsonl", limits=Limits(part_bytes=1000))
    limits = Limits(part_bytes=1000)
    return stage_bytes(tmp_path, ROWS, in_place=request.param == "in place", limits=limits)


def test_any_chunk_is_read_by_its_number_alone(staged):
    reader = ChunkReader(staged.store)

    for number in Random(1).sample(range(10), 10):
        chunk = reader.read(number)
        assert chunk.number == number
        assert [record.ordinal for record in chunk.records] == list(
            range(number * 100, number * 100 + 100)
        )
        assert [json.loads(record.raw)["id"] for record in chunk.records] == [
            record.ordinal for record in chunk.records
        ]


def test_many_threads_read_the_same_store_at_once(staged):
    reader = ChunkReader(staged.store)
    numbers = [number % 10 for number in range(400)]

    with ThreadPoolExecutor(16) as threads:
        chunks = list(threads.map(reader.read, numbers))

    alone = [ChunkReader(staged.store).read(number) for number in range(10)]
    assert chunks == [alone[number] for number in numbers]


@pytest.mark.parametrize("number", [-1, 10, 1 << 40])
def test_a_chunk_that_is_not_there_is_not_found(staged, number):
    with pytest.raises(NotFound, match="has no chunk"):
        ChunkReader(staged.store).read(number)


def test_what_was_staged_can_be_asked_of_the_store(staged):
    assert read_staged(staged.store) == staged


def test_a_copy_does_not_need_its_source_any_more(tmp_path):
    staged = stage_bytes(tmp_path, ROWS, in_place=False)
    (tmp_path / "r.jsonl").unlink()

    assert bodies(staged) == ROWS.splitlines()


def test_parts_are_of_bounded_size_and_hold_whole_chunks(tmp_path):
    staged = stage_bytes(tmp_path, ROWS, in_place=False, limits=Limits(part_bytes=3000))

    sizes = [path.stat().st_size for path in sorted(Path(staged.store).glob("part-*"))]
    assert len(sizes) > 3
    assert all(3000 <= size < 3000 + 2000 for size in sizes[:-1])


def test_a_plain_jsonl_in_reach_is_indexed_and_not_copied(tmp_path):
    staged = stage_bytes(tmp_path, ROWS)

    assert sorted(path.name for path in Path(staged.store).iterdir()) == ["index", "staged.json"]
    assert (Path(staged.store) / "index").stat().st_size == 10 * 24


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(ROWS + b"{}\n"),
        lambda path: path.write_bytes(ROWS.replace(b"7", b"8")),
        lambda path: path.write_bytes(ROWS[:100]),
        lambda path: path.write_bytes(b""),
    ],
)
def test_a_file_that_changed_since_it_was_indexed_is_refused(tmp_path, change):
    staged = stage_bytes(tmp_path, ROWS)
    reader = ChunkReader(staged.store)
    reader.read(0)

    change(tmp_path / "r.jsonl")
    os.utime(tmp_path / "r.jsonl", (1, 1))

    for again in (reader, ChunkReader(staged.store)):
        with pytest.raises(Conflict, match=r"r.jsonl: was staged where it lies and has .* now"):
            again.read(9)


def test_a_file_that_is_gone_is_refused(tmp_path):
    staged = stage_bytes(tmp_path, ROWS)
    reader = ChunkReader(staged.store)
    (tmp_path / "r.jsonl").unlink()

    with pytest.raises(NotFound, match="no such file"):
        reader.read(0)


def test_a_file_that_was_only_touched_is_still_the_one_that_was_indexed(tmp_path):
    staged = stage_bytes(tmp_path, ROWS)
    os.utime(tmp_path / "r.jsonl", (1, 1))

    assert bodies(staged) == ROWS.splitlines()


def test_a_file_that_changes_while_it_is_indexed_is_refused(tmp_path):
    (tmp_path / "r.jsonl").write_bytes(ROWS)

    def grow(_):
        with (tmp_path / "r.jsonl").open("ab") as file:
            file.write(b"{}\n")

    with pytest.raises(Misused, match="changed while it was read"):
        stage(
            Source(str(tmp_path / "r.jsonl")),
            PLAIN,
            str(tmp_path / "store"),
            clock=MovingClock(),
            progress=grow,
        )


def test_a_chunk_with_a_line_of_any_length_is_read_in_bounded_memory(tmp_path):
    content = b'{"a":1}\n{"big":"%b"}\n{"a":2}\n' % (b"x" * 100_000_000)
    staged = stage_bytes(tmp_path, content)
    tracemalloc.start()

    records = read_all(staged)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [isinstance(record, Record) for record in records] == [True, False, True]
    assert peak < 60_000_000


def test_the_same_bytes_give_the_same_staging_and_keep_one_copy(tmp_path):
    first = stage_bytes(tmp_path, ROWS, in_place=False)
    again = stage_bytes(tmp_path, ROWS, in_place=False)

    assert again == first
    assert len(list((tmp_path / "store" / "job-1").iterdir())) == 1


@pytest.mark.parametrize("in_place", [True, False])
def test_other_bytes_under_the_same_job_are_told_apart_and_leave_the_first_alone(
    tmp_path, in_place
):
    first = stage_bytes(tmp_path, ROWS, "a.jsonl", in_place=in_place)
    second = stage_bytes(tmp_path, ROWS + b"{}", "b.jsonl", in_place=in_place)

    assert second.digest != first.digest
    assert second.store != first.store
    assert len(bodies(first)) == 1000
    assert len(bodies(second)) == 1001


def test_bytes_that_only_move_from_one_file_to_the_next_are_told_apart(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}')
    (tmp_path / "b.jsonl").write_bytes(b'{"b":1}')
    first = stage_path(tmp_path, "*.jsonl")
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}{"b":1}')
    (tmp_path / "b.jsonl").write_bytes(b"")

    second = stage_path(tmp_path, "*.jsonl")

    assert (first.rejected, second.rejected) == (0, 1)
    assert first.digest != second.digest


def test_another_manifest_over_the_same_bytes_is_a_staging_of_its_own(tmp_path):
    first = stage_bytes(tmp_path, ROWS, in_place=False)
    second = stage_bytes(
        tmp_path, ROWS, job=manifest(url="https://w.example/{name}"), in_place=False
    )

    assert (first.digest, first.rejected) == (second.digest, 0)
    assert second.rejected == 1000
    assert len(bodies(first)) == 1000


def test_a_staging_that_is_not_finished_cannot_be_read(tmp_path):
    staged = stage_bytes(tmp_path, ROWS, in_place=False)
    (Path(staged.store) / "staged.json").unlink()

    with pytest.raises(NotFound, match="holds no finished staging"):
        ChunkReader(staged.store)


def test_a_seal_that_cannot_be_read_is_refused_by_its_name(tmp_path):
    staged = stage_bytes(tmp_path, ROWS)
    (Path(staged.store) / "staged.json").write_text('{"format_version": 2}')

    with pytest.raises(Misused, match=r"staged.json: cannot be read"):
        ChunkReader(staged.store)


def test_a_seal_that_cannot_be_read_is_no_obstacle_to_staging_again(tmp_path):
    staged = stage_bytes(tmp_path, ROWS)
    (Path(staged.store) / "staged.json").write_text('{"format_version": 2}')

    assert stage_bytes(tmp_path, ROWS).store != staged.store


def test_a_part_that_was_damaged_is_noticed(tmp_path):
    staged = stage_bytes(tmp_path, ROWS, in_place=False)
    part = Path(staged.store) / "part-00000"
    part.write_bytes(part.read_bytes()[:-500])

    with pytest.raises(Conflict, match="chunk 9 has"):
        ChunkReader(staged.store).read(9)


def test_a_store_can_be_moved(tmp_path):
    staged = stage_bytes(tmp_path, ROWS, in_place=False)
    moved = Path(staged.store).rename(tmp_path / "elsewhere")

    assert ChunkReader(str(moved)).staged.store == str(moved)
    assert len(ChunkReader(str(moved)).read(3).records) == 100


STAGE_FOR_EVER = """
import sys
from injector.clock import SystemClock
from injector.staging import Source, stage
from tests.stagings import PLAIN
stage(Source("-", format="jsonl"), PLAIN, sys.argv[1], clock=SystemClock())
"""


STAGE_ON_A_SMALL_DISK = """
import resource, sys
from injector.clock import SystemClock
from injector.errors import InjectorError
from injector.staging import Source, stage
from tests.stagings import PLAIN
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
try:
    stage(Source("-", format="jsonl"), PLAIN, sys.argv[1], clock=SystemClock())
except InjectorError as error:
    print(error)
"""


def test_a_disk_that_takes_no_more_is_a_fault_that_leaves_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", STAGE_ON_A_SMALL_DISK, str(tmp_path / "store")],
        input=b'{"id":1}\n' * 200_000,
        capture_output=True,
        check=True,
    )

    assert b"store/job-1" in done.stdout
    assert b"File too large" in done.stdout
    assert not (tmp_path / "store" / "job-1").exists()


def start_staging(store):
    """Start a staging in a process of its own that waits for more input."""
    process = subprocess.Popen(
        [sys.executable, "-c", STAGE_FOR_EVER, str(store)], stdin=subprocess.PIPE
    )
    assert process.stdin
    process.stdin.write(b'{"id":1}\n' * 240_000)
    process.stdin.flush()
    return process


def wait_for_parts(store):
    def parts():
        return [path for path in Path(store).rglob("part-*") if path.stat().st_size]

    return until(parts)


def test_a_killed_staging_leaves_nothing_that_counts_and_the_next_one_cleans_up(tmp_path):
    process = start_staging(tmp_path / "store")
    [part] = wait_for_parts(tmp_path / "store")

    process.send_signal(signal.SIGKILL)
    process.communicate()

    with pytest.raises(NotFound):
        ChunkReader(str(part.parent))
    staged = stage_bytes(tmp_path, ROWS, in_place=False)
    assert [path.name for path in (tmp_path / "store" / "job-1").iterdir()] == [
        Path(staged.store).name
    ]


def test_a_staging_leaves_one_alone_that_is_still_at_work(tmp_path):
    process = start_staging(tmp_path / "store")
    [part] = wait_for_parts(tmp_path / "store")

    stage_bytes(tmp_path, ROWS, in_place=False)
    assert part.exists()
    process.communicate()

    assert process.returncode == 0
    assert ChunkReader(str(part.parent)).staged.records == 240_000


def test_a_staging_that_is_interrupted_cleans_up_after_itself(tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    (tmp_path / "r.csv").write_text("n\n1\n")
    with pytest.raises(KeyboardInterrupt):
        stage(
            Source(str(tmp_path / "r.csv")),
            PLAIN,
            str(tmp_path / "store"),
            clock=MovingClock(),
            progress=interrupt,
        )

    assert not (tmp_path / "store" / "job-1").exists()


def test_a_faulty_source_leaves_an_earlier_staging_alone(tmp_path):
    staged = stage_bytes(tmp_path, ROWS, in_place=False)
    before = sorted(Path(tmp_path / "store").rglob("*"))

    with pytest.raises(Misused):
        stage_bytes(tmp_path, b"id,id\n1,2\n", "r.csv")

    assert sorted(Path(tmp_path / "store").rglob("*")) == before
    assert len(bodies(staged)) == 1000


@pytest.mark.parametrize(("name", "content"), [("r.jsonl", b'{"n":1}\n?\n'), ("r.csv", b"n\n1\n")])
def test_records_of_a_single_file_name_it_too(tmp_path, name, content):
    staged = stage_bytes(tmp_path, content, name)
    assert {record.file for record in read_all(staged)} == {str(tmp_path / name)}
