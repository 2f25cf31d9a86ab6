import json

import pytest
import responses

from injector.cli.dashboard import command as dashboard
from injector.cli.main import run
from injector.cli.up import command as up
from injector.cli.way_in import way_in
from injector.errors import Misused

SERVICE = "https://injector.example"


@pytest.fixture
def service():
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mocked:
        yield mocked


@pytest.fixture
def browser():
    return way_in(SERVICE, lambda: "secret").test_client()


def test_a_page_is_passed_on_with_the_token_of_who_runs_the_command(service, browser):
    service.get(f"{SERVICE}/jobs/a", body="<p>a</p>", content_type="text/html")

    answer = browser.get("/jobs/a?part=live", headers={"Accept": "text/html", "Cookie": "a=b"})

    asked = service.calls[0].request
    assert (answer.status_code, answer.text) == (200, "<p>a</p>")
    assert answer.headers["Content-Type"] == "text/html"
    assert asked.url == f"{SERVICE}/jobs/a?part=live"
    assert asked.headers["Authorization"] == "Bearer secret"
    assert "Cookie" not in asked.headers


def test_a_change_is_passed_on_with_its_body(service, browser):
    service.post(f"{SERVICE}/jobs/a/pause", json={"state": "paused"}, status=200)
    headers = {"Sec-Fetch-Site": "same-origin", "If-Match": '"3"'}

    answer = browser.post("/jobs/a/pause", json={"why": "x"}, headers=headers)

    asked = service.calls[0].request
    assert answer.json == {"state": "paused"}
    assert json.loads(asked.body) == {"why": "x"}
    assert asked.headers["If-Match"] == '"3"'


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Origin": "https://evil.example"},
        {"Host": "evil.example"},
        {"Host": "evil.example:8090", "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_no_page_of_another_site_gets_through(service, browser, headers):
    answer = browser.post("/jobs/a/pause", headers=headers)

    assert answer.status_code == 403
    assert not service.calls


def test_a_page_that_resolves_its_own_name_to_loopback_reads_nothing(service, browser):
    assert browser.get("/jobs", headers={"Host": "evil.example:8090"}).status_code == 403
    assert not service.calls


def test_a_redirect_to_the_service_leads_back_here(service, browser):
    service.get(f"{SERVICE}/old", status=302, headers={"Location": f"{SERVICE}/new?a=1"})

    assert browser.get("/old").headers["Location"] == "/new?a=1"


def test_a_service_that_is_away_is_told(service, browser):
    answer = browser.get("/")

    assert answer.status_code == 502
    assert f"{SERVICE} cannot be asked" in answer.text


def test_a_token_that_cannot_be_had_is_told(service):
    def no_token():
        raise Misused("log in first")

    answer = way_in(SERVICE, no_token).test_client().get("/")

    assert (answer.status_code, service.calls.__len__()) == (502, 0)
    assert "log in first" in answer.text


def test_it_can_be_opened_beside_what_runs_on_this_machine():
    taken = {one.default for one in up.params if one.name.endswith("port")}
    (port,) = (one.default for one in dashboard.params if one.name == "port")

    assert len(taken) == 4
    assert port not in taken


def test_what_is_no_service_is_no_dashboard(service, capsys):
    service.get("http://127.0.0.1:8080/jobs", body="<h1>It works</h1>")

    assert run(["dashboard", "--no-browser", "--service", "http://127.0.0.1:8080"]) == 2
    assert "is it an injector service?" in capsys.readouterr().err
