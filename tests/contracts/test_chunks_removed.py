"""Chunks that no job names any more are removed from each kind of store, and nothing else is."""

from pathlib import Path

import pytest

from injector.errors import NotFound
from injector.staging import Source, look_at, read_staged, stage, unstage
from injector.staging.attempt import attempt
from injector.staging.folder import Folder
from tests.moving_clock import MovingClock
from tests.stagings import NOW, PLAIN, stage_bytes

ROWS = b"".join(b'{"id":%d}\n' % number for number in range(250))


@pytest.fixture
def staged(url, tmp_path):
    (tmp_path / "users.csv").write_bytes(b"id\n" + b"1\n" * 250)
    return stage(Source(str(tmp_path / "users.csv")), PLAIN, url, clock=MovingClock())


def nobody():
    return False


def test_nothing_is_left_of_chunks_that_no_job_names(url, staged, tmp_path):
    sizes = Folder.at(staged.store).sizes()
    assert len(sizes) == 3

    held = unstage(staged.store, is_named=nobody)

    assert (held.files, held.size) == (3, sum(sizes.values()))
    assert Folder.at(url).names() == []
    assert (tmp_path / "users.csv").stat().st_size > 500


def test_chunks_that_a_job_names_stay_as_they_are(staged):
    before = look_at(staged.store)

    assert unstage(staged.store, is_named=lambda: True) is None

    assert look_at(staged.store) == before
    assert read_staged(staged.store).records == 250


def test_chunks_that_a_job_names_can_be_read_all_the_while(staged):
    def is_named():
        assert read_staged(staged.store).records == 250
        return True

    assert unstage(staged.store, is_named=is_named) is None


def test_nobody_can_register_chunks_that_are_being_removed(staged):
    asked = []

    def is_named():
        asked.append(_is_whole(staged.store))
        return False

    assert unstage(staged.store, is_named=is_named)
    assert asked == [True, False]


def test_chunks_that_were_registered_meanwhile_are_whole_again(staged):
    answers = iter([False, True])

    assert unstage(staged.store, is_named=lambda: next(answers)) is None

    assert read_staged(staged.store).records == 250


def _is_whole(store):
    try:
        read_staged(store)
    except NotFound:
        return False
    return True


def test_a_file_that_is_no_part_of_the_chunks_stays(url, staged):
    folder = Folder.at(staged.store)
    folder.put("part-notes.txt", b"mine")

    unstage(staged.store, is_named=nobody)

    assert folder.names() == ["part-notes.txt"]


def test_another_staging_of_the_job_stays(url, staged):
    with attempt(Folder.at(url) / PLAIN.job, now=NOW) as other:
        unstage(staged.store, is_named=nobody)
        assert (Folder.at(url) / PLAIN.job).names() in ([], [other.path.rpartition("/")[2]])


def test_a_file_that_is_read_where_it_lies_is_named_and_stays(tmp_path):
    staged = stage_bytes(tmp_path, ROWS)
    assert look_at(staged.store).source == str(tmp_path / "r.jsonl")

    held = unstage(staged.store, is_named=nobody)

    assert held.size < len(ROWS)
    assert (tmp_path / "r.jsonl").read_bytes() == ROWS
    assert not Path(staged.store).parent.exists()


@pytest.mark.parametrize("place", ["", "/job-1", "/job-1/1-2", "/job-1/001800000000-abcdef12/x"])
def test_a_folder_that_no_staging_made_is_not_touched(url, staged, place):
    with pytest.raises(NotFound, match="is no folder that a staging makes"):
        unstage(f"{url}{place}", is_named=nobody)
    assert look_at(staged.store).files == 3


def test_chunks_that_are_gone_are_not_found(staged):
    unstage(staged.store, is_named=nobody)
    with pytest.raises(NotFound):
        look_at(staged.store)
