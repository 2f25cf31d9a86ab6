"""What a queue's HTTP target changes of its tasks' requests."""

import pytest
from google.auth import jwt
from google.cloud import tasks_v2

from injector.emulator.dispatch.requests import Requests
from injector.emulator.dispatch.tokens import Issuer

URL = "https://www.example.test:8443/a/b?x=1&y=2"
IF_NOT_EXISTS = tasks_v2.UriOverride.UriOverrideEnforceMode.IF_NOT_EXISTS


def sent(direct, target, url=URL, **request: object):
    """Return the request that a task of such a queue makes."""
    queue = direct.queue(http_target=target)
    direct.task(queue, http_request={"url": url, **request})
    ((_, attempt),) = direct.due()
    config = direct.parts.service.configs[queue]
    requests = Requests(Issuer("https://issuer.test"))
    return requests.build(attempt, config, now=direct.now)


def headers(request, name):
    return [value for key, value in request.headers if key.lower() == name.lower()]


@pytest.mark.parametrize(
    ("override", "url"),
    [
        ({}, URL),
        ({"scheme": "HTTP"}, "http://www.example.test:8443/a/b?x=1&y=2"),
        ({"scheme": "SCHEME_UNSPECIFIED"}, URL),
        ({"host": "other.test"}, "https://other.test:8443/a/b?x=1&y=2"),
        ({"host": "other.test:81"}, "https://other.test:81/a/b?x=1&y=2"),
        ({"host": "other.test:81", "port": 82}, "https://other.test:82/a/b?x=1&y=2"),
        ({"host": "::1"}, "https://[::1]:8443/a/b?x=1&y=2"),
        ({"port": 123}, "https://www.example.test:123/a/b?x=1&y=2"),
        ({"port": 0}, "https://www.example.test/a/b?x=1&y=2"),
        ({"path_override": {"path": "/c"}}, "https://www.example.test:8443/c?x=1&y=2"),
        ({"path_override": {"path": "c"}}, "https://www.example.test:8443/c?x=1&y=2"),
        ({"path_override": {"path": ""}}, "https://www.example.test:8443?x=1&y=2"),
        ({"query_override": {"query_params": "q=9"}}, "https://www.example.test:8443/a/b?q=9"),
        ({"query_override": {"query_params": ""}}, "https://www.example.test:8443/a/b"),
        (
            {"scheme": "HTTP", "host": "h.test", "port": 1, "path_override": {"path": "/p"}},
            "http://h.test:1/p?x=1&y=2",
        ),
    ],
)
def test_each_part_of_the_url_can_be_replaced(direct, override, url):
    assert sent(direct, {"uri_override": override}).url == url


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (URL, URL),
        ("http://h.test", "http://h.test:99/p?q=9"),
        ("http://h.test/own", "http://h.test:99/own?q=9"),
        ("http://h.test:1/?own=1", "http://h.test:1/p?own=1"),
    ],
)
def test_mode_if_not_exists_only_fills_gaps(direct, url, expected):
    override = {
        "scheme": "HTTPS",
        "host": "other.test",
        "port": 99,
        "path_override": {"path": "/p"},
        "query_override": {"query_params": "q=9"},
        "uri_override_enforce_mode": IF_NOT_EXISTS,
    }
    assert sent(direct, {"uri_override": override}, url=url).url == expected


@pytest.mark.parametrize("url", ["http://[broken", "http://h:99999999/x", "http://h.test/%zz"])
def test_url_that_cannot_be_read_is_left_alone(direct, url):
    request = sent(direct, {"uri_override": {"path_override": {"path": "/%zz"}}}, url=url)
    assert request.url.startswith("http://")


def test_method_of_the_queue_beats_the_tasks(direct):
    assert sent(direct, {"http_method": "PUT"}, body=b"x").method == "PUT"


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "OPTIONS"])
def test_body_is_left_out_if_the_queues_method_carries_none(direct, method):
    assert sent(direct, {"http_method": method}, body=b"x").body == b""


def test_headers_of_the_queue_replace_the_tasks_in_any_casing(direct):
    overrides = [
        {"header": {"key": "X-A", "value": "queue"}},
        {"header": {"key": "X-New", "value": "new"}},
        {"header": {"key": "Host", "value": "evil"}},
        {"header": {"key": "User-Agent", "value": "evil"}},
        {"header": {"key": "X-CloudTasks-TaskName", "value": "evil"}},
    ]
    request = sent(direct, {"header_overrides": overrides}, headers={"x-a": "task", "x-b": "b"})
    assert headers(request, "x-a") == ["queue"]
    assert headers(request, "x-b") == ["b"]
    assert headers(request, "x-new") == ["new"]
    assert headers(request, "host") == []
    assert headers(request, "user-agent") == ["Google-Cloud-Tasks"]
    assert headers(request, "x-cloudtasks-taskname") != ["evil"]


def test_token_of_the_queue_beats_the_tasks_and_its_own_header(direct):
    target = {"oauth_token": {"service_account_email": "q@p.test", "scope": "s"}}
    own = {"service_account_email": "t@p.test"}
    request = sent(direct, target, oidc_token=own, headers={"authorization": "Basic x"})
    (value,) = headers(request, "authorization")
    assert value == f"Bearer {Issuer('').oauth('q@p.test', 's')}"


def test_audience_defaults_to_the_url_that_is_really_called(direct):
    override = {"uri_override": {"host": "real.test"}}
    own = {"service_account_email": "t@p.test"}
    request = sent(direct, override, oidc_token=own)
    (value,) = headers(request, "authorization")
    claims = jwt.decode(value.removeprefix("Bearer "), verify=False)
    assert claims["aud"] == request.url == "https://real.test:8443/a/b?x=1&y=2"


def test_app_engine_tasks_are_not_changed_by_the_http_target(direct):
    queue = direct.queue(http_target={"uri_override": {"host": "x.test"}, "http_method": "GET"})
    direct.task(queue, app_engine_http_request={"relative_uri": "/go?a=1", "body": b"b"})
    ((_, attempt),) = direct.due()
    requests = Requests(Issuer(""), app_engine="http://127.0.0.1:8080")
    request = requests.build(attempt, direct.parts.service.configs[queue], now=direct.now)
    assert (request.url, request.method) == ("http://127.0.0.1:8080/go?a=1", "POST")
    assert (request.body, request.redirects) == (b"b", 0)
