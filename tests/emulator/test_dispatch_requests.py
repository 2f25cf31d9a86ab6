"""What a target is told of its task, attempt by attempt."""

import base64
import json
import time

import pytest
from google.auth import jwt

from injector.emulator.dispatch.requests import Requests
from injector.emulator.dispatch.tokens import LIFETIME_S, Issuer

ACCOUNT = "worker@p.iam.gserviceaccount.com"
FAMILIES = {
    "X-CloudTasks-": {"http_request": {"url": "http://target.test/x"}},
    "X-AppEngine-": {"app_engine_http_request": {"relative_uri": "/x"}},
}


def request_of(direct, started, issuer: Issuer | None = None):
    queue, attempt = started
    requests = Requests(issuer or Issuer("https://issuer.test"), "http://127.0.0.1:8080")
    return requests.build(attempt, direct.parts.service.configs[queue.name], now=direct.now)


def headers_of(direct, started) -> dict[str, str]:
    return dict(request_of(direct, started).headers)


def story(direct, prefix: str, statuses: list[int]) -> list[dict[str, str]]:
    """Return the task's headers of each attempt while the target answers so."""
    direct.task(direct.queue(), "t", **FAMILIES[prefix])
    seen = []
    for status in statuses:
        direct.advance(3600)
        (started,) = direct.due()
        seen.append(headers_of(direct, started))
        direct.end(started, status)
    return seen


@pytest.mark.parametrize(
    ("prefix", "executions"),
    [("X-CloudTasks-", "001223"), ("X-AppEngine-", "012345")],
)
def test_headers_across_answers_are_those_recorded_from_production(direct, prefix, executions):
    statuses = [503, 404, 429, 500, 302, 200]
    seen = story(direct, prefix, statuses)
    reason = "" if prefix == "X-CloudTasks-" else "App Error"
    assert [h[f"{prefix}TaskRetryCount"] for h in seen] == list("012345")
    assert [h[f"{prefix}TaskExecutionCount"] for h in seen] == list(executions)
    previous = [h.get(f"{prefix}TaskPreviousResponse") for h in seen]
    assert previous == [None, "503", "404", "429", "500", "302"]
    assert [h.get(f"{prefix}TaskRetryReason") for h in seen] == [None, *[reason] * 5]
    assert {h[f"{prefix}QueueName"] for h in seen} == {"q"}
    assert {h[f"{prefix}TaskName"] for h in seen} == {"t"}


@pytest.mark.parametrize(
    ("prefix", "previous", "reason"),
    [("X-CloudTasks-", "504", ""), ("X-AppEngine-", "0", "Instance Unavailable")],
)
def test_timeout_is_told_but_counts_as_no_execution(direct, prefix, previous, reason):
    direct.task(direct.queue(), **FAMILIES[prefix])
    direct.end(direct.due()[0], None, timed_out=True)
    direct.advance(1)
    headers = headers_of(direct, direct.due()[0])
    assert headers[f"{prefix}TaskPreviousResponse"] == previous
    assert headers[f"{prefix}TaskRetryReason"] == reason
    assert headers[f"{prefix}TaskExecutionCount"] == "0"


def test_eta_is_the_schedule_time_in_seconds(direct):
    stamp = {"seconds": int(direct.now) + 5, "nanos": 250_000_000}
    direct.task(direct.queue(), schedule_time=stamp)
    direct.advance(10)
    headers = headers_of(direct, direct.due()[0])
    assert headers["X-CloudTasks-TaskETA"] == f"{stamp['seconds']}.250000"


def test_deadline_of_the_task_or_its_default_is_kept(direct):
    queue = direct.queue()
    direct.task(queue, dispatch_deadline={"seconds": 15})
    direct.task(queue)
    direct.task(queue, **FAMILIES["X-AppEngine-"])
    assert [request_of(direct, s).deadline_s for s in direct.due()] == [15, 600, 600]


@pytest.mark.parametrize(
    ("sent", "seen"),
    [
        ({}, "AppEngine-Google; (+http://code.google.com/appengine)"),
        (
            {"user-agent": "mine/1"},
            "mine/1 AppEngine-Google; (+http://code.google.com/appengine)",
        ),
    ],
)
def test_app_engine_agent_is_appended(direct, sent, seen):
    task = {"app_engine_http_request": {"relative_uri": "/x", "headers": sent}}
    direct.task(direct.queue(), **task)
    assert headers_of(direct, direct.due()[0])["User-Agent"] == seen


def token_of(direct, token: dict[str, str], issuer: Issuer) -> str:
    request = {"url": "https://service.test/run?x=1", "oidc_token": token}
    direct.task(direct.queue(), http_request=request)
    headers = dict(request_of(direct, direct.due()[0], issuer).headers)
    return headers["Authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize(
    ("token", "audience"),
    [
        ({}, "https://service.test/run?x=1"),
        ({"audience": "https://service.test"}, "https://service.test"),
    ],
)
def test_identity_token_verifies_against_the_issuers_certificates(direct, token, audience):
    issuer = Issuer("http://127.0.0.1:8124")
    signed = token_of(direct, {"service_account_email": ACCOUNT, **token}, issuer)
    claims = jwt.decode(signed, certs=issuer.public_pem(), audience=audience, verify=False)
    assert jwt.decode_header(signed)["alg"] == "RS256"
    assert (claims["aud"], claims["iss"]) == (audience, issuer.name)
    assert (claims["email"], claims["email_verified"]) == (ACCOUNT, True)
    assert claims["exp"] - claims["iat"] == LIFETIME_S
    assert claims["iat"] == int(direct.now)
    jwt.decode(issuer.oidc(ACCOUNT, "a", now=time.time()), certs=issuer.public_pem())


def test_key_set_names_the_key_that_signed(direct):
    issuer = Issuer("https://issuer.test")
    signed = token_of(direct, {"service_account_email": ACCOUNT}, issuer)
    (key,) = issuer.key_set()["keys"]
    header = json.loads(base64.urlsafe_b64decode(signed.split(".")[0] + "=="))
    assert (key["kid"], key["alg"], key["kty"]) == (header["kid"], "RS256", "RSA")


def test_another_emulators_key_does_not_verify(direct):
    signed = token_of(direct, {"service_account_email": ACCOUNT}, Issuer("https://a.test"))
    with pytest.raises(Exception, match=r"not found|verify"):
        jwt.decode(signed, certs=Issuer("https://a.test").public_pem())


def test_token_is_reused_for_minutes_and_renewed_before_it_ends():
    issuer = Issuer("https://issuer.test")
    first = issuer.oidc(ACCOUNT, "a", now=1000.0)
    assert issuer.oidc(ACCOUNT, "a", now=1299.0) == first
    assert issuer.oidc(ACCOUNT, "a", now=1301.0) != first
    assert issuer.oidc(ACCOUNT, "b", now=1000.0) != first
