"""Which places are within a store."""

import pytest

from injector.staging import is_below

BUCKET = "gs://bucket/chunks"


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("gs://bucket/chunks/welcome-1/3f", BUCKET),
        ("gs://bucket/chunks/welcome-1/", f"{BUCKET}/"),
        ("gs://bucket/chunks/welcome-1", "gcs://bucket/chunks"),
        ("memory:///chunks/welcome-1", "memory://chunks"),
        ("/srv/chunks/welcome-1", "/srv/chunks"),
        ("/srv/chunks/welcome-1", "file:///srv/chunks"),
        ("file:///srv/chunks/welcome-1", "/srv/chunks/"),
        ("chunks/welcome-1", "chunks"),
    ],
)
def test_what_is_staged_in_a_store_is_below_it(url, folder):
    assert is_below(url, folder)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/etc",
        "file:///etc",
        "http://169.254.169.254/computeMetadata",
        "https://bucket/chunks/welcome-1",
        "gs://bucket",
        BUCKET,
        f"{BUCKET}-of-others/welcome-1",
        f"{BUCKET}/../secrets",
        f"{BUCKET}/./x",
        f"{BUCKET}//x",
        f"{BUCKET}/x::http://169.254.169.254/",
        "simplecache::gs://bucket/chunks/x",
        "data:,gs://bucket/chunks/x",
        "nonsense://bucket/chunks/x",
    ],
)
def test_everything_else_is_not_below_a_bucket(url):
    assert not is_below(url, BUCKET)


@pytest.mark.parametrize(
    "url", ["/srv/chunks", "/srv/chunks/../x", "/srv/chunks-2/x", "file:/etc/x", "data:,x", BUCKET]
)
def test_everything_else_is_not_below_a_folder(url):
    assert not is_below(url, "/srv/chunks")


def test_a_link_that_leads_out_of_a_folder_is_not_below_it(tmp_path):
    (tmp_path / "chunks").mkdir()
    (tmp_path / "chunks" / "out").symlink_to(tmp_path)
    assert not is_below(str(tmp_path / "chunks" / "out" / "x"), str(tmp_path / "chunks"))
    assert is_below(str(tmp_path / "chunks" / "in" / "x"), str(tmp_path / "chunks"))
