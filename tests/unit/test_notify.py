"""Telling a webhook that a job has ended."""

import base64
import hashlib
import hmac
import json
from itertools import pairwise

import pytest
import requests
import responses
from hypothesis import given
from hypothesis import strategies as st

from handlers.webhook import Webhooks
from injector.control.notify import MOST_TRIES, MOST_WAIT_S, Notifies, next_try, signed
from injector.errors import Retryable
from injector.groups import Group
from injector.ledger import open_ledger
from injector.ledger.ports import JobState, NewJob, Receipt
from tests.moving_clock import MovingClock

URL = "https://hooks.example/secret-path?key=secret-key"
GROUP = Group("mail", (), ())
JOB = NewJob("welcome", "mail", "{}", "file:///c", 250, 3, "sha256:1", notify=URL)


class Hook:
    """A webhook that fails as often as a test says, and remembers what it got."""

    def __init__(self, failures=0) -> None:
        self.failures = failures
        self.got = []

    def __call__(self, url, body, headers) -> None:
        self.got.append((url, json.loads(body), dict(headers)))
        if len(self.got) <= self.failures:
            raise Retryable("it answered 500")


@pytest.fixture
def ledger():
    opened = open_ledger("sqlite://")
    opened.jobs.register(JOB, now=1.0)
    yield opened
    opened.close()


def run(ledger, hook, clock, *, secret="", time_left=lambda: 45.0):
    notifies = Notifies(ledger, clock, hook, secret)
    return list(notifies.run(GROUP, rate=5.0, time_left=time_left))


def test_an_end_is_told_once_with_the_totals(ledger):
    ledger.receipts.merge(Receipt("welcome", 0, 100, created_mask=(1 << 100) - 1), now=2.0)
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=3.0)
    hook, clock = Hook(), MovingClock()
    assert run(ledger, hook, clock) == ["hooks.example was told of job welcome"]
    assert run(ledger, hook, clock) == []
    ((url, event, _),) = hook.got
    assert url == URL
    assert (event["type"], event["timestamp"]) == ("job.cancelled", 3.0)
    data = event["data"]
    assert (data["job"], data["records"], data["created"], data["open"]) == (
        "welcome",
        250,
        100,
        150,
    )


def test_a_job_that_goes_on_is_told_of_nobody(ledger):
    assert run(ledger, Hook(), MovingClock()) == []


def test_a_webhook_that_fails_is_tried_again_under_the_same_id_and_later_each_time(ledger):
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=3.0)
    hook, clock, at = Hook(failures=3), MovingClock(), []
    while len(hook.got) < 4:
        if run(ledger, hook, clock):
            at.append(clock.time)
        clock.time += 10
    waits = [later - earlier for earlier, later in pairwise(at)]
    assert waits == [60, 120, 240]
    assert len({headers["webhook-id"] for _, _, headers in hook.got}) == 1


def test_what_is_said_of_a_webhook_names_its_host_and_no_secret(ledger):
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=3.0)
    (said,) = run(ledger, Hook(failures=1), MovingClock())
    assert said == (
        "hooks.example could not be told of job welcome: it answered 500; it is tried again"
    )


def test_no_webhook_is_called_when_the_tick_has_no_time_for_it(ledger):
    ledger.jobs.set_state("welcome", JobState.CANCELLED, "", now=3.0)
    hook = Hook()
    assert run(ledger, hook, MovingClock(), time_left=lambda: 5.0) == []
    assert hook.got == []


@given(st.integers(0, MOST_TRIES + 5), st.floats(0, 2e9))
def test_tries_are_bounded_in_number_and_in_their_waits(tries, now):
    until = next_try(tries, now=now)
    assert (until is None) == (tries + 1 >= MOST_TRIES)
    assert until is None or 0 < until - now <= MOST_WAIT_S + 1e-3


@pytest.mark.parametrize(
    ("secret", "key"),
    [("plain", b"plain"), ("whsec_" + base64.b64encode(b"\0binary").decode(), b"\0binary")],
)
def test_a_receiver_can_verify_by_whom_it_is_told(secret, key):
    headers = signed("welcome-2", b"{}", secret=secret, now=1234.9)
    text = b"welcome-2.1234.{}"
    expected = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert "webhook-signature" not in signed("welcome-2", b"{}", secret="", now=1.0)


@pytest.mark.parametrize("status", [301, 400, 404, 500])
def test_a_post_that_is_not_answered_2xx_is_to_be_tried_again_and_not_followed(status):
    with responses.RequestsMock() as web:
        web.post(URL, status=status, headers={"Location": "https://elsewhere.example/"})
        with pytest.raises(Retryable, match=f"it answered {status}") as failure:
            Webhooks().post(URL, b"{}", {})
    assert "secret" not in str(failure.value)


def test_a_post_that_gets_no_answer_is_to_be_tried_again_without_telling_the_url():
    with responses.RequestsMock() as web:
        web.post(URL, body=requests.ConnectionError(f"cannot reach {URL}"))
        with pytest.raises(Retryable) as failure:
            Webhooks().post(URL, b"{}", {})
    assert str(failure.value) == "no answer (ConnectionError)"


def test_a_post_carries_body_and_headers():
    with responses.RequestsMock() as web:
        web.post(URL, status=204)
        Webhooks().post(URL, b'{"a":1}', {"webhook-id": "x"})
        assert web.calls[0].request.body == b'{"a":1}'
        assert web.calls[0].request.headers["webhook-id"] == "x"
