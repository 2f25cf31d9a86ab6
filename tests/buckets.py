"""A bucket for tests: gcsfs finds it, and no cloud does."""

from collections.abc import Iterator

import pytest
from fsspec.config import conf
from fsspec.registry import _registry
from gcsfs.core import GCSFileSystem

from tests.contracts.fake_bucket import Bucket, serving


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A bucket that gcsfs finds under gs://bucket, and that answers the web's own questions."""
    with serving() as (served, endpoint):
        find_buckets_at(endpoint, monkeypatch)
        yield served


def find_buckets_at(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let gcsfs ask there, without credentials."""
    monkeypatch.setitem(conf, "gs", {"token": "anon", "endpoint_url": endpoint})
    monkeypatch.setitem(_registry, "gs", GCSFileSystem)
