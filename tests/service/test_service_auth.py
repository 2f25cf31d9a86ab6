import json
import logging

import pytest
import responses

from handlers.app import create_app
from handlers.keys import GOOGLE_KEYS_URL
from injector.errors import Misused
from tests.house import PERSON, QUEUE, SCHEDULER, settings_of
from tests.tokens import SERVICE, Signer, segment

ROUTES = [
    ("POST", "/inject", QUEUE),
    ("POST", "/keep-warm", QUEUE),
    ("POST", "/control/tick", SCHEDULER),
    ("POST", "/jobs", PERSON),
    ("GET", "/jobs", PERSON),
    ("GET", "/jobs/x", PERSON),
    ("GET", "/jobs/x/rejects", PERSON),
    ("GET", "/jobs/x/report", PERSON),
    ("GET", "/jobs/x/summary", PERSON),
    ("GET", "/jobs/x/manifest", PERSON),
    ("GET", "/jobs/x/audit", PERSON),
    ("PATCH", "/jobs/x", PERSON),
    ("DELETE", "/jobs/x", PERSON),
    ("POST", "/jobs/x/pause", PERSON),
    ("POST", "/jobs/x/resume", PERSON),
    ("POST", "/jobs/x/cancel", PERSON),
    ("POST", "/jobs/x/retry", PERSON),
    ("POST", "/jobs/x/redrive", PERSON),
    ("GET", "/groups", PERSON),
    ("GET", "/groups/welcome", PERSON),
    ("GET", "/groups/welcome/queues", PERSON),
    ("GET", "/groups/welcome/rights", PERSON),
    ("POST", "/groups/welcome/operations", PERSON),
    ("POST", "/groups/welcome/plans", PERSON),
    ("GET", "/operations", PERSON),
    ("GET", "/operations/x", PERSON),
    ("POST", "/operations/x/pause", PERSON),
    ("POST", "/operations/x/resume", PERSON),
    ("POST", "/operations/x/cancel", PERSON),
    ("GET", "/metrics", PERSON),
    ("GET", "/openapi.json", PERSON),
    ("GET", "/docs", PERSON),
    ("GET", "/docs/swagger-ui.css", PERSON),
    ("GET", "/", PERSON),
    ("GET", "/dashboard/jobs/x", PERSON),
    ("GET", "/dashboard/jobs/x/rejects", PERSON),
    ("GET", "/dashboard/groups/welcome", PERSON),
    ("GET", "/dashboard/operations/x", PERSON),
    ("GET", "/dashboard/groups/welcome/minutes", PERSON),
    ("GET", "/dashboard/groups/welcome/queues", PERSON),
    ("GET", "/dashboard/files/live.js", PERSON),
]


def forged(signer, email):
    """Sign with another key under the good key's id."""
    return Signer.new(signer.key_id, "someone else").token(email)


def unsigned(signer, email):
    return f"{segment({'alg': 'none', 'typ': 'JWT'})}.{segment(signer.claims(email))}."


def keyed_by_the_public_key(signer, email):
    """Name an algorithm by which the public key would be the secret."""
    head = {"alg": "HS256", "typ": "JWT", "kid": signer.key_id}
    return f"{segment(head)}.{segment(signer.claims(email))}.{segment(b'0' * 32)}"


def with_other_claims(signer, email):
    head, _, signature = signer.token("nobody@p.example").split(".")
    return f"{head}.{segment(signer.claims(email))}.{signature}"


def expired(signer, email):
    return signer.token(email, iat=1_600_000_000, exp=1_600_003_600)


BAD = {
    "none": (lambda _signer, _email: "", "no bearer token"),
    "rubbish": (lambda _signer, _email: "abc", "form"),
    "three rubbish parts": (lambda _signer, _email: "a.b.c", "form"),
    "not text": (lambda _signer, _email: "é.é.é", "form"),
    "unsigned": (unsigned, "signature"),
    "by another key": (forged, "signature"),
    "by the public key": (keyed_by_the_public_key, "signature"),
    "claims swapped": (with_other_claims, "signature"),
    "by an unknown key": (
        lambda _signer, email: Signer.new("other", "someone else").token(email),
        "signature",
    ),
    "expired": (expired, "exp"),
    "from the future": (
        lambda s, email: s.token(email, iat=9_000_000_000, exp=9_000_003_600),
        "iat",
    ),
    "endless": (lambda s, email: s.token(email, exp=None), "exp"),
    "another issuer": (lambda s, email: s.token(email, iss="https://evil.example"), "iss"),
    "no issuer": (lambda s, email: s.token(email, iss=None), "iss"),
    "another audience": (lambda s, email: s.token(email, aud="https://other.example"), "aud"),
    "a URL with a query": (lambda s, email: s.token(email, aud=f"{SERVICE}/inject?x=1"), "aud"),
    "a URL with a path": (lambda s, email: s.token(email, aud=f"{SERVICE}/inject"), "aud"),
    "a URL with a slash": (lambda s, email: s.token(email, aud=f"{SERVICE}/"), "aud"),
    "a URL with a fragment": (lambda s, email: s.token(email, aud=f"{SERVICE}#f"), "aud"),
    "several audiences": (lambda s, email: s.token(email, aud=[SERVICE]), "aud"),
    "no audience": (lambda s, email: s.token(email, aud=None), "aud"),
    "e-mail not verified": (
        lambda s, email: s.token(email, email_verified=False),
        "email_verified",
    ),
    "e-mail hardly verified": (
        lambda s, email: s.token(email, email_verified="true"),
        "email_verified",
    ),
    "no e-mail": (lambda s, email: s.token(email, email=None), "email"),
}


def status_of(house, method, path, token):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return house.app.test_client().open(path, method=method, headers=headers)


@pytest.mark.parametrize("kind", BAD)
def test_no_route_lets_a_bad_token_in(house, kind):
    make, _ = BAD[kind]
    for method, path, email in ROUTES:
        answer = status_of(house, method, path, make(house.signer, email))
        assert (path, answer.status_code) == (path, 401)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.content_type == "application/problem+json"


@pytest.mark.parametrize("kind", BAD)
def test_what_is_wrong_with_a_token_is_logged_and_the_token_is_not(house, kind, caplog):
    make, claim = BAD[kind]
    token = make(house.signer, QUEUE)
    with caplog.at_level(logging.WARNING, "injector"):
        status_of(house, "POST", "/inject", token)
    (record,) = [each for each in caplog.records if each.event == "caller.refused"]
    assert claim in record.fields["why"]
    assert not token or token not in caplog.text


@pytest.mark.parametrize(("method", "path", "email"), ROUTES)
def test_each_route_is_for_its_own_callers(house, method, path, email):
    for other in {QUEUE, SCHEDULER, PERSON, "someone@p.example"} - {email}:
        assert house.ask(method, path, email=other).status_code == 403
    assert house.ask(method, path, email=email).status_code not in {401, 403}


def test_every_route_but_health_is_among_those_tried(house):
    rules = house.app.url_map
    tried = {rules.bind("").match(path, method)[0] for method, path, _ in ROUTES}
    assert {rule.endpoint for rule in rules.iter_rules()} - tried == {
        "health.health",
        "health.healthz",
        "health.ready",
        "health.readyz",
    }


@pytest.mark.parametrize("path", ["/health", "/healthz", "/ready", "/readyz"])
def test_health_needs_no_caller(house, path):
    assert house.app.test_client().get(path).status_code == 200


@pytest.mark.parametrize("path", ["/", "/nowhere", "/jobs/"])
def test_a_route_that_is_not_there_needs_a_caller_too(house, path):
    assert house.app.test_client().get(path).status_code == 401


FORGED_HEADERS = [
    {"X-CloudTasks-QueueName": "injector-0", "X-CloudTasks-TaskName": "t"},
    {"x-cloudtasks-queuename": "injector-0"},
    {"X-AppEngine-QueueName": "injector-0", "X-AppEngine-TaskName": "t"},
    {"X-Appengine-Cron": "true"},
    {"X-CloudScheduler": "true"},
    {"X-Forwarded-For": "127.0.0.1", "Forwarded": "for=127.0.0.1"},
    {"X-Goog-Authenticated-User-Email": f"accounts.google.com:{PERSON}"},
    {"X-Serverless-Authorization": "Bearer x"},
    [("X-CloudTasks-QueueName", "injector-0"), ("x-cloudtasks-queuename", "injector-1")],
    [("Authorization", ""), ("Authorization", "Bearer x")],
]


@pytest.mark.parametrize("headers", FORGED_HEADERS)
@pytest.mark.parametrize(("method", "path"), [("POST", "/inject"), ("POST", "/control/tick")])
def test_headers_that_anyone_can_send_let_no_one_in(house, method, path, headers):
    assert house.app.test_client().open(path, method=method, headers=headers).status_code == 401


def test_names_in_headers_are_never_a_tasks_identity(house):
    house.submit(house.stage())
    task = {"version": 1, "job": "welcome-1", "chunk": 0, "generation": 0}
    twice = {"X-CloudTasks-TaskName": "the-same", "X-CloudTasks-QueueName": "the-same"}
    first = house.inject(task, headers=twice)
    second = house.inject(task | {"chunk": 1}, headers=twice)
    assert [first.json["created"], second.json["created"]] == [100, 100]


def test_a_token_is_good_a_little_beyond_its_time(house):
    late = house.signer.claims(PERSON)["iat"] - 1
    assert house.ask("GET", "/jobs", token=house.signer.token(PERSON, exp=late)).status_code == 200


def test_the_case_of_an_e_mail_does_not_matter(house):
    assert house.ask("GET", "/jobs", email="Ann@P.example").status_code == 200


def test_the_audience_is_the_configured_url_whatever_host_is_asked(house):
    answer = house.ask("GET", "/jobs", headers={"Host": "evil.example"})
    assert answer.status_code == 200
    token = house.signer.token(PERSON, aud="https://evil.example")
    answer = house.ask("GET", "/jobs", token=token, headers={"Host": "evil.example"})
    assert answer.status_code == 401


def test_app_engine_vouches_for_its_queues_and_its_cron(house_of):
    house = house_of(auth="app-engine", app_engine="standard")
    client = house.app.test_client()
    queue = client.post("/inject", headers={"X-AppEngine-QueueName": "injector-0"}, data=b"{}")
    cron = client.post("/control/tick", headers={"X-Appengine-Cron": "true"})
    assert (queue.status_code, cron.status_code) == (200, 200)


@pytest.mark.parametrize(
    "headers",
    [
        {"X-AppEngine-QueueName": "someone-elses"},
        {"X-AppEngine-QueueName": ""},
        [("X-AppEngine-QueueName", "injector-0"), ("X-AppEngine-QueueName", "injector-0")],
        {"X-Appengine-Cron": "true"},
        {"X-CloudTasks-QueueName": "injector-0"},
        {},
    ],
)
def test_app_engine_vouches_for_no_other_queue(house_of, headers):
    house = house_of(auth="app-engine", app_engine="standard")
    assert house.app.test_client().post("/inject", headers=headers).status_code == 401


def test_app_engine_still_wants_tokens_from_people(house_of):
    house = house_of(auth="app-engine", app_engine="standard")
    assert house.get("/jobs").status_code == 200
    headers = {"X-Appengine-Cron": "true", "X-AppEngine-QueueName": "injector-0"}
    assert house.app.test_client().get("/jobs", headers=headers).status_code == 401


def open_house(house_of):
    return house_of(auth="off", service_url="http://127.0.0.1:8080")


def test_without_authentication_this_machine_may_call(house_of):
    client = open_house(house_of).app.test_client()
    assert client.get("/jobs", base_url="http://127.0.0.1:8080").status_code == 200


@pytest.mark.parametrize(
    ("remote", "headers"),
    [
        ("10.0.0.7", {}),
        ("127.0.0.1", {"Host": "evil.example"}),
        ("127.0.0.1", {"Origin": "https://evil.example"}),
        ("127.0.0.1", {"Origin": "null"}),
    ],
)
def test_without_authentication_no_one_else_may_call(house_of, remote, headers):
    client = open_house(house_of).app.test_client()
    answer = client.get(
        "/jobs",
        base_url="http://127.0.0.1:8080",
        headers=headers,
        environ_overrides={"REMOTE_ADDR": remote},
    )
    assert answer.status_code == 401


@pytest.mark.parametrize("changes", [{"host": "0.0.0.0"}, {"service_url": "https://i.example"}])
def test_without_authentication_no_application_is_made_for_the_outside(house_of, changes):
    house = house_of(**({"auth": "off", "service_url": None} | changes))
    with pytest.raises(Misused, match="INJECTOR_AUTH"):
        _ = house.app


def fetched_app(house):
    """Make the application as in production: it fetches its key set."""
    parts = house.app.extensions["parts"]
    return create_app(house.settings, parts)


@pytest.mark.parametrize("form", ["certificates", "jwks"])
@responses.activate
def test_googles_keys_are_fetched_once_and_kept(house, form):
    keys = getattr(house.signer, form)()
    responses.get(GOOGLE_KEYS_URL, json=keys, headers={"Cache-Control": "public, max-age=3600"})
    client = fetched_app(house).test_client()
    headers = {"Authorization": f"Bearer {house.signer.token(PERSON)}"}
    assert [client.get("/jobs", headers=headers).status_code for _ in range(5)] == [200] * 5
    assert len(responses.calls) == 1


@responses.activate
def test_made_up_key_ids_cause_no_fetches(house):
    responses.get(GOOGLE_KEYS_URL, json=house.signer.certificates())
    client = fetched_app(house).test_client()
    for number in range(20):
        token = Signer(house.signer.key, f"made-up-{number}").token(PERSON)
        answer = client.get("/jobs", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 401
    assert len(responses.calls) == 1


@pytest.mark.parametrize(
    "answer", [{"status": 500}, {"body": b"<html>"}, {"json": []}, {"json": {"keys": [{}]}}]
)
@responses.activate
def test_without_a_key_set_callers_are_asked_to_come_again(house, answer):
    responses.get(GOOGLE_KEYS_URL, **answer)
    client = fetched_app(house).test_client()
    headers = {"Authorization": f"Bearer {house.signer.token(PERSON)}"}
    assert client.get("/jobs", headers=headers).status_code == 503


LOCAL = {
    "service_url": "http://127.0.0.1:8080",
    "emulator_host": "127.0.0.1:8123",
    "oidc_issuer": "http://127.0.0.1:8124",
    "oidc_keys_url": "http://127.0.0.1:8124/jwks",
}


def emulators_token(signer):
    return signer.token(QUEUE, iss="http://127.0.0.1:8124", aud="http://127.0.0.1:8080")


@responses.activate
def test_a_local_run_accepts_the_emulators_tokens(house_of):
    house = house_of(**LOCAL)
    responses.get("http://127.0.0.1:8124/jwks", json=house.signer.jwks())
    headers = {"Authorization": f"Bearer {emulators_token(house.signer)}"}
    answer = fetched_app(house).test_client().post("/inject", headers=headers, data=b"{}")
    assert answer.status_code == 200


def test_production_refuses_the_emulators_tokens(house):
    token = house.signer.token(QUEUE, iss="http://127.0.0.1:8124")
    assert status_of(house, "POST", "/inject", token).status_code == 401


@responses.activate
def test_production_refuses_the_emulators_key(house):
    responses.get(GOOGLE_KEYS_URL, json=Signer.new("other", "someone else").certificates())
    headers = {"Authorization": f"Bearer {house.signer.token(QUEUE)}"}
    answer = fetched_app(house).test_client().post("/inject", headers=headers)
    assert answer.status_code == 401


def test_production_does_not_start_with_the_emulators_issuer(house_of):
    house = house_of(**(LOCAL | {"service_url": SERVICE}))
    with pytest.raises(Misused, match="INJECTOR_OIDC_ISSUER"):
        _ = house.app


def test_an_injector_task_carries_the_token_that_the_service_takes(house):
    house.submit(house.stage())
    house.tick()
    create = next(iter(house.creator.queues.created.values()))
    token = create.template.token
    assert (token.kind, token.service_account, token.scope) == ("oidc", QUEUE, SERVICE)
    assert json.loads(create.body)["job"] == "welcome-1"
    assert settings_of().base_url == SERVICE
