"""What a command that waits says of it."""

import logging

import pytest

from injector.cli.job_view import waits_for
from injector.cli.waits import tell_of_waits
from injector.staging.files import CONNECT_S, filesystem_of

JOB = {"state": "running", "records": 600, "created": 590, "existed": 4, "rejected": 6}
LOGGERS = ("gcsfs", "google.auth.compute_engine._metadata")


@pytest.fixture(autouse=True)
def loggers():
    """Leave the libraries' logs as they were."""
    found = [logging.getLogger(name) for name in LOGGERS]
    kept = [(each.level, each.propagate, each.handlers) for each in found]
    tell_of_waits()
    yield
    for each, (level, propagate, handlers) in zip(found, kept, strict=True):
        each.setLevel(level)
        each.propagate, each.handlers, each.disabled = propagate, handlers, False


def test_a_bucket_that_is_asked_again_is_told_of(capsys):
    logging.getLogger("gcsfs").debug("_request retrying after exception: no route\nto host")
    logging.getLogger("gcsfs").debug("GET: b/{}/o")
    said = capsys.readouterr().err
    assert said == "injector: the bucket does not answer (no route to host); trying again\n"


def test_credentials_that_are_looked_for_are_told_of_once(capsys):
    for attempt in (1, 2, 3):
        logging.getLogger(LOGGERS[1]).warning("Compute Engine Metadata server away: %s", attempt)
    said = capsys.readouterr().err
    assert said == "injector: looking for this machine's Google credentials\n"


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
