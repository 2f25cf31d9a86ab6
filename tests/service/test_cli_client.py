"""The command line's client of the service."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
import requests
import responses

from injector.cli.client import ATTEMPTS, Service
from injector.errors import Conflict, Misused, NotFound, Refused, Retryable

URL = "http://127.0.0.1:8080"


@dataclass
class Waits:
    """A clock that notes what it is asked to wait, and does not."""

    slept: list = field(default_factory=list)

    def now(self):
        return 0.0

    def monotonic(self):
        return 0.0

    def sleep(self, seconds):
        self.slept.append(seconds)


@pytest.fixture
def web():
    with responses.RequestsMock() as web:
        yield web


def service(waits=None, token="", announce=lambda _: None):
    return Service(URL, lambda: token, waits or Waits(), announce)


def test_health_is_asked_with_the_token_too(web):
    web.get(f"{URL}/ready", json={"status": "ready"})
    service(token="t").health()
    assert web.calls[0].request.headers["Authorization"] == "Bearer t"


def test_new_job_is_told_from_one_that_is_known(web):
    web.post(f"{URL}/jobs", status=201, json={"id": "j"})
    web.post(f"{URL}/jobs", status=200, json={"id": "j"})
    assert service().register({"job": "j"}, {"records": 1}) == ({"id": "j"}, True)
    assert service().register({"job": "j"}, {"records": 1}) == ({"id": "j"}, False)
    assert web.calls[0].request.body == b'{"manifest": {"job": "j"}, "staged": {"records": 1}}'


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (400, Misused),
        (404, NotFound),
        (409, Conflict),
        (401, Refused),
        (403, Refused),
        (422, Misused),
    ],
)
def test_refusal_keeps_the_services_words_and_is_not_tried_again(web, status, verdict):
    web.get(f"{URL}/jobs/j", status=status, json={"title": "No", "detail": "because of this"})
    waits = Waits()
    with pytest.raises(verdict, match="because of this") as failure:
        service(waits).job("j")
    assert type(failure.value) is verdict
    assert waits.slept == []


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_what_was_not_taken_is_tried_again_with_growing_waits_and_then_given_up(web, status):
    tries = web.get(f"{URL}/jobs/j", status=status, json={"detail": "busy"})
    waits = Waits()
    with pytest.raises(Retryable, match=f"answered {status}: busy"):
        service(waits).job("j")
    assert tries.call_count == ATTEMPTS
    assert len(waits.slept) == ATTEMPTS - 1
    assert all(low <= high for low, high in pairwise(waits.slept))
    assert len(set(waits.slept)) == len(waits.slept)


def test_service_that_comes_back_answers_and_the_wait_was_announced(web):
    web.get(f"{URL}/jobs/j", body=requests.ConnectionError("refused"))
    web.get(f"{URL}/jobs/j", json={"id": "j"})
    said = []
    assert service(announce=said.append).job("j") == {"id": "j"}
    assert "cannot be reached; is it up (injector up, injector serve)? --service" in said[0]
    assert "Trying again in" in said[0]


def test_pages_are_read_to_the_end(web):
    first = responses.matchers.query_param_matcher({"limit": "200"})
    second = responses.matchers.query_param_matcher({"limit": "200", "after": "7"})
    web.get(f"{URL}/jobs/j/rejects", json={"rejects": [{"line": 1}], "next": 7}, match=[first])
    web.get(f"{URL}/jobs/j/rejects", json={"rejects": [{"line": 2}], "next": None}, match=[second])
    assert [reject["line"] for reject in service().rejects("j")] == [1, 2]


def test_token_shows_who_asks(web):
    web.get(
        f"{URL}/groups/g",
        json={},
        match=[responses.matchers.header_matcher({"Authorization": "Bearer t"})],
    )
    service(token="t").group("g")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"body": "<html>", "status": 200}, "did not answer in JSON"),
        ({"json": [], "status": 200}, "did not answer as an injector service"),
        ({"status": 302, "headers": {"Location": "/login"}}, "does not seem to be an injector"),
        ({"body": "<html>", "status": 404}, "Not Found"),
    ],
)
def test_server_that_is_something_else_is_named_as_such(web, answer, words):
    web.get(f"{URL}/jobs/j", **answer)
    with pytest.raises(Misused, match=words):
        service().job("j")


@pytest.mark.parametrize(("asked", "least"), [("17", 17), ("99999", 60), ("", 0), ("soon", 0)])
def test_a_service_that_asks_to_be_left_alone_is_for_as_long_within_reason(web, asked, least):
    web.get(f"{URL}/jobs/j", status=429, json={"detail": "slower"}, headers={"Retry-After": asked})
    web.get(f"{URL}/jobs/j", json={"id": "j"})
    waits = Waits()
    assert service(waits).job("j") == {"id": "j"}
    assert least <= waits.slept[0] <= least + 1
