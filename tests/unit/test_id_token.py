"""The ID token that shows the service who calls it."""

import json
from urllib.parse import urlsplit

import google.auth
import pytest
import responses
from google.auth.credentials import TokenState
from google.auth.exceptions import DefaultCredentialsError
from google.auth.impersonated_credentials import Credentials as Impersonated
from google.oauth2.credentials import Credentials

from injector.delivery.identity import IdToken, id_token
from injector.errors import Misused
from tests.scripted_credentials import StaticCredentials
from tests.tokens import Signer

SERVICE = "https://i.example"
ACCOUNT = "operator@p.iam.gserviceaccount.com"


def test_a_token_is_fetched_once_and_again_when_it_is_over():
    credentials = StaticCredentials("a")
    token = IdToken(SERVICE, lambda: credentials)
    assert [token() for _ in range(3)] == ["a"] * 3
    assert credentials.refreshes == 1
    credentials.token, credentials.token_state = "b", TokenState.INVALID
    assert token() == "b"
    assert credentials.refreshes == 2


def test_nothing_is_looked_for_before_a_token_is_wanted():
    def load():
        raise AssertionError

    IdToken(SERVICE, load)


def none():
    raise DefaultCredentialsError("no service account\nis found")


@pytest.mark.parametrize(
    ("load", "why"),
    [(none, "no service account is found"), (lambda: StaticCredentials("a", fails=1), "429")],
)
def test_without_a_token_one_line_says_why_and_what_would_do(load, why):
    with pytest.raises(Misused) as refusal:
        IdToken(SERVICE, load)()
    said = str(refusal.value)
    assert said.startswith(f"no ID token for {SERVICE}: ")
    assert why in said
    assert "INJECTOR_IMPERSONATE" in said
    assert "INJECTOR_TOKEN" in said
    assert "\n" not in said


@pytest.fixture
def google_answers(monkeypatch):
    """The caller's own access token, and whatever Google answers to it."""
    monkeypatch.setattr(google.auth, "default", lambda **_: (Credentials("mine"), "p"))
    with responses.RequestsMock() as web:
        yield web


def generated(web, **answer: object):
    url = f"https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/{ACCOUNT}"
    return web.post(f"{url}:generateIdToken", **answer)


def test_a_service_account_is_impersonated_with_its_address_in_the_token(google_answers):
    theirs = Signer.new().token(ACCOUNT, exp=4_000_000_000)
    generated(google_answers, json={"token": theirs})
    assert id_token(SERVICE, ACCOUNT)() == theirs
    (call,) = google_answers.calls
    asked = json.loads(call.request.body)
    assert (asked["audience"], asked["includeEmail"]) == (SERVICE, True)
    assert urlsplit(call.request.url).hostname == "iamcredentials.googleapis.com"
    assert call.request.headers["Authorization"] == "Bearer mine"


@pytest.mark.parametrize("named", ["", ACCOUNT])
def test_a_login_that_impersonates_serves_without_being_named(google_answers, monkeypatch, named):
    login = Impersonated(Credentials("mine"), ACCOUNT, ["scope"])
    monkeypatch.setattr(google.auth, "default", lambda **_: (login, "p"))
    theirs = Signer.new().token(ACCOUNT, exp=4_000_000_000)
    generated(google_answers, json={"token": theirs})
    assert id_token(SERVICE, named)() == theirs
    (call,) = google_answers.calls
    assert call.request.headers["Authorization"] == "Bearer mine"


def test_who_may_not_impersonate_learns_which_role_would_do(google_answers):
    generated(google_answers, status=403, json={"error": {"status": "PERMISSION_DENIED"}})
    with pytest.raises(Misused, match=r"PERMISSION_DENIED.*iam\.serviceAccountTokenCreator"):
        id_token(SERVICE, ACCOUNT)()
