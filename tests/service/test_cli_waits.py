"""What a command that waits says of it."""

import asyncio
import logging
import sys

import pytest
from fsspec.registry import _registry
from gcsfs.core import GCSFileSystem
from google.auth.compute_engine import _metadata
from google.auth.exceptions import TransportError

from injector.cli.job_view import waits_for
from injector.cli.waits import tell_of_waits
from injector.errors import Misused
from injector.staging.files import CONNECT_S, filesystem_of, find_files
from tests.waiting import until

JOB = {"state": "running", "records": 600, "created": 590, "existed": 4, "rejected": 6}
CLOSED = "http://127.0.0.1:1"
LOGGERS = ("gcsfs", "google.auth.compute_engine._metadata")


@pytest.fixture(autouse=True)
def loggers():
    """Leave the libraries' logs as they were."""
    found = [logging.getLogger(name) for name in LOGGERS]
    kept = [(each.level, list(each.filters)) for each in found]
    tell_of_waits()
    yield
    for each, (level, filters) in zip(found, kept, strict=True):
        each.setLevel(level)
        each.filters = filters


def test_a_bucket_that_is_asked_again_is_told_of(capsys, caplog):
    said: list[str] = []
    bucket = GCSFileSystem(token="anon", endpoint_url=CLOSED, skip_instance_cache=True)
    info = bucket._info("bucket/records.jsonl")  # noqa: SLF001  (the public one cannot be ended)
    asked = asyncio.run_coroutine_threadsafe(info, bucket.loop)
    until(lambda: said.append(capsys.readouterr().err) or "again\n" in "".join(said))
    asked.cancel()
    assert "".join(said).startswith("injector: the bucket does not answer (Cannot connect to host")
    assert caplog.records == []


def test_what_else_a_bucket_s_library_warns_of_goes_on_and_its_details_do_not(capsys, caplog):
    logging.getLogger("gcsfs").debug("GET: b/{}/o")
    logging.getLogger("gcsfs").warning("the token is old")
    assert [record.getMessage() for record in caplog.records] == ["the token is old"]
    assert capsys.readouterr().err == ""


def test_credentials_that_are_looked_for_are_told_of_once(capsys, caplog):
    def away(**_: object):
        raise TransportError("no route to host")

    for _ in range(2):
        assert not _metadata.ping(away, retry_count=1)
    logging.getLogger(LOGGERS[1]).warning("the certificate is old")
    said = capsys.readouterr().err
    assert said == "injector: looking for this machine's Google credentials\n"
    assert [record.getMessage() for record in caplog.records] == ["the certificate is old"]


def test_a_bucket_that_cannot_be_connected_to_is_given_up_after_seconds():
    fs, path = filesystem_of("gs://bucket/records.jsonl")
    assert fs.requests_timeout.sock_connect == CONNECT_S
    assert fs.requests_timeout.total is None
    assert path == "bucket/records.jsonl"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "all records are settled; it ends at the next tick"),
        ({"created": 500}, ""),
        ({"created": 500, "fault": "queue q is paused"}, "queue q is paused"),
        ({"state": "finished"}, ""),
    ],
)
def test_a_job_says_what_it_still_waits_for(changes, words):
    assert waits_for(JOB | changes) == words


@pytest.mark.parametrize("package", ["aiohttp", "gcsfs"])
def test_a_bucket_without_the_extra_says_what_to_install(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(_registry, "gs", raising=False)
    with pytest.raises(Misused, match=r"gs://bucket/r.csv: .*cloud-tasks-injector\[gcs\]"):
        find_files("gs://bucket/r.csv")
