"""How much one caller may ask of the service: often, deep and long."""

import json
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handlers.nesting import is_deeper
from tests.house import PERSON, QUEUE, SCHEDULER

OTHER = "ben@p.example"


@pytest.fixture
def narrow(house_of):
    """A service of which one person may ask three things a minute."""
    return house_of(requests_per_minute=3, people=(PERSON, OTHER))


def statuses(house, email, path="/jobs", method="GET", times=4):
    return [house.ask(method, path, email=email).status_code for _ in range(times)]


def test_who_asks_more_than_one_may_is_told_when_to_ask_again(narrow):
    assert statuses(narrow, PERSON) == [200, 200, 200, 429]
    answer = narrow.get("/groups")
    assert (answer.status_code, answer.content_type) == (429, "application/problem+json")
    assert 1 <= int(answer.headers["Retry-After"]) <= 60
    assert PERSON in answer.json["detail"]
    assert "INJECTOR_REQUESTS_PER_MINUTE" in answer.json["detail"]


def test_nothing_is_done_for_who_asks_too_much(narrow):
    submission = narrow.stage()
    statuses(narrow, PERSON)
    assert narrow.submit(submission).status_code == 429
    assert narrow.ask("GET", "/jobs/welcome-1", email=OTHER).status_code == 404


def test_one_person_s_requests_do_not_count_for_another(narrow):
    statuses(narrow, PERSON)
    assert statuses(narrow, OTHER) == [200, 200, 200, 429]


def test_queues_and_scheduler_ask_as_often_as_they_must(narrow):
    statuses(narrow, PERSON)
    assert statuses(narrow, SCHEDULER, "/control/tick", "POST", 10) == [200] * 10
    assert statuses(narrow, QUEUE, "/inject", "POST", 10) == [200] * 10


def test_health_is_never_kept_from_anyone(narrow):
    client = narrow.app.test_client()
    assert {client.get("/healthz").status_code for _ in range(10)} == {200}


def test_an_application_that_is_only_made_starts_no_thread(house):
    before = set(threading.enumerate())
    assert house.app
    assert set(threading.enumerate()) <= before


def nested(levels):
    return "[" * levels + "]" * levels


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/jobs"),
        ("PATCH", "/jobs/x"),
        ("POST", "/jobs/x/cancel"),
        ("POST", "/jobs/x/pause"),
    ],
)
@pytest.mark.parametrize("body", [nested(65), "[" * 30_000, '{"a":' * 65, '{"a": "' + "\\" * 3])
def test_a_body_that_goes_too_deep_is_refused_with_the_depth(house, method, path, body):
    answer = house.ask(method, path, data=body)
    assert answer.status_code == 400
    assert ("64 levels deep" in answer.json["detail"]) == ("\\" not in body)


def test_brackets_in_texts_are_no_levels(house):
    submission = house.stage()
    submission["manifest"]["task"]["http"]["headers"] = {"X-Deep": '["\\' + "[{" * 200}
    assert house.submit(submission).status_code == 201


def test_an_injector_task_that_goes_too_deep_is_refused_for_good(house):
    body = b'{"version":1,"job":"j","chunk":0,"x":' + b"[" * 30_000
    answer = house.inject(body)
    assert (answer.status_code, answer.json["status"]) == (200, "rejected")


JSONS = st.recursive(
    st.none() | st.integers() | st.text(alphabet='ab"\\[]{}é'),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('a"\\['), inner, max_size=3)
    ),
    max_leaves=30,
)


def depth_of(value):
    if not isinstance(value, dict | list):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(depth_of, inner), default=0)


@given(JSONS)
def test_depth_is_that_of_the_value(value):
    content, depth = json.dumps(value, ensure_ascii=False).encode(), depth_of(value)
    assert not is_deeper(content, depth)
    assert depth == 0 or is_deeper(content, depth - 1)


def test_depth_of_hostile_bytes_is_told_in_one_pass():
    for hostile in (b'"\\' * 500_000, b'"' * 1_000_001, b"[]" * 500_000, b"]" * 1_000_000):
        assert not is_deeper(hostile, 64)
