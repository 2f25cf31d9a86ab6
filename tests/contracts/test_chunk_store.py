import fsspec
import pytest

from injector.errors import Conflict, NotFound
from injector.staging import ChunkReader, Source, stage
from injector.staging.attempt import ABANDONED_AFTER_S, attempt
from injector.staging.folder import Folder
from injector.staging.seal import SEAL
from tests.moving_clock import MovingClock
from tests.stagings import NOW, PLAIN, bodies

ROWS = b"".join(b'{"id":%d}\n' % number for number in range(250))


@pytest.fixture
def store(url):
    return Folder.at(url)


def write(folder, name, content):
    stream = folder.create(name)
    stream.write(content)
    folder.close(stream)


def test_a_file_is_read_back_in_whole_and_in_part(store):
    write(store / "a", "f", b"0123456789")

    assert (store / "a").read("f") == b"0123456789"
    assert (store / "a").read("f", 3, 5) == b"34"
    assert (store / "a").read("f", 8, 20) == b"89"


def test_a_file_is_put_in_place_of_an_earlier_one(store):
    store.put("f", b"one")
    store.put("f", b"two")

    assert store.read("f") == b"two"
    assert store.names() == ["f"]


def test_a_folder_knows_what_is_in_it(store):
    assert store.names() == []
    assert not store.has("b")

    write(store, "b", b"")
    write(store / "a", "f", b"")

    assert store.names() == ["a", "b"]
    assert store.has("b")


def test_a_folder_that_is_removed_takes_all_with_it(store):
    write(store / "a", "f", b"")

    (store / "a").remove()
    (store / "a").remove()

    assert store.names() == []


def test_a_file_that_is_not_there_is_not_found(store):
    with pytest.raises(NotFound, match="f: there is no such file"):
        store.read("f")


def test_a_folder_is_found_again_by_its_url(store):
    (store / "a").put("f", b"x")

    assert Folder.at((store / "a").url).read("f") == b"x"


def put(location, content):
    with fsspec.open(location, "wb", use_listings_cache=False) as file:
        file.write(content)
    return location


@pytest.mark.parametrize("source", ["local", "beside the store", "elsewhere"])
def test_records_come_back_from_any_store_and_any_source(url, tmp_path, source):
    beside = url if "://" in url else str(tmp_path)
    folder = {"local": str(tmp_path), "beside the store": beside}.get(source, "memory://elsewhere")
    location = put(f"{folder}/r.jsonl", ROWS)

    staged = stage(Source(location), PLAIN, url, clock=MovingClock())

    assert bodies(staged) == ROWS.splitlines()
    assert len(ChunkReader(staged.store).read(2).records) == 50


@pytest.mark.usefixtures("bucket")
def test_files_in_a_bucket_are_found_by_a_glob():
    put("gs://bucket/in/b.csv", b"n\n2\n")
    put("gs://bucket/in/a.csv", b"n\n1\n")

    staged = stage(Source("gs://bucket/in/*.csv"), PLAIN, "gs://bucket/c", clock=MovingClock())

    assert bodies(staged) == [b'{"n":"1"}', b'{"n":"2"}']


@pytest.fixture
def indexed(bucket):
    """A source that is read where it lies in the bucket of its store."""
    location = put("gs://bucket/in/r.jsonl", ROWS)
    staged = stage(Source(location), PLAIN, "gs://bucket/chunks", clock=MovingClock())
    bucket.reads.clear()
    return staged


def test_a_source_in_the_bucket_of_its_store_is_not_copied(indexed):
    assert Folder.at(indexed.store).names() == ["index", SEAL]


def test_a_chunk_takes_one_ranged_read_once_the_index_is_there(indexed, bucket):
    reader = ChunkReader(indexed.store)
    reader.read(0)
    bucket.reads.clear()

    reader.read(1)

    line = len(b'{"id":100}\n')
    first = ROWS.index(b'{"id":100}')
    assert bucket.reads == [("in/r.jsonl", f"bytes={first}-{first + 100 * line - 1}")]


@pytest.mark.parametrize("content", [ROWS + b"{}", ROWS.replace(b"7", b"8"), b'{"a":1}\n'])
def test_an_object_that_was_replaced_is_refused(indexed, content):
    reader = ChunkReader(indexed.store)
    put("gs://bucket/in/r.jsonl", content)

    with pytest.raises(Conflict, match="was staged where it lies and has"):
        reader.read(2)


def test_an_object_that_was_uploaded_again_is_still_the_one_that_was_indexed(indexed):
    put("gs://bucket/in/r.jsonl", ROWS)

    assert bodies(indexed) == ROWS.splitlines()


def fail_after_writing(store):
    with attempt(store, now=NOW) as folder:
        write(folder, "part-00000", b"x")
        raise KeyError


def test_an_attempt_that_fails_leaves_nothing(store):
    with pytest.raises(KeyError):
        fail_after_writing(store)

    assert store.names() == []


def test_an_attempt_that_is_sealed_stays(store):
    with attempt(store, now=NOW) as folder:
        write(folder, "part-00000", b"x")
        folder.put(SEAL, b"{}")

    with attempt(store, now=NOW + 10 * ABANDONED_AFTER_S) as other:
        other.put(SEAL, b"{}")

    assert folder.names() == ["part-00000", SEAL]


def test_an_attempt_is_swept_a_day_after_it_began_but_not_before(store):
    left = store / f"{int(NOW):012d}-cafecafe"
    write(left, "part-00000", b"x")

    with attempt(store, now=NOW + ABANDONED_AFTER_S):
        assert left.names() == ["part-00000"]
    with attempt(store, now=NOW + ABANDONED_AFTER_S + 1):
        assert left.names() == []


def test_what_is_no_attempt_is_left_alone(store):
    write(store / "notes", "f", b"x")
    write(store, "000000000001-notes", b"x")

    with attempt(store, now=NOW):
        pass

    assert (store / "notes").names() == ["f"]
    assert store.has("000000000001-notes")
