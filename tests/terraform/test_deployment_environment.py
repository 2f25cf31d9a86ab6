"""The environment that a deployment gives its programs, read by the programs' own settings."""

from urllib.parse import unquote, urlsplit

import pytest

from handlers.app import create_app
from injector.ledger.engines import parse_url
from injector.settings import Settings, read_service_settings, read_settings

PLATFORM = {"GOOGLE_CLOUD_PROJECT"}


@pytest.fixture
def environ(monkeypatch):
    """Set the environment, to what is given and nothing else of ours."""

    def give(variables, **more: str):
        for name in Settings.model_fields:
            monkeypatch.delenv(f"INJECTOR_{name.upper()}", raising=False)
        for name, value in {**variables, **more}.items():
            monkeypatch.setenv(name, value)

    return give


@pytest.fixture
def service_settings(deployment, environ):
    """What the service reads on its platform."""
    on_app_engine = "scheduler" not in deployment.outputs["accounts"]
    platform = {"GAE_ENV": "standard"} if on_app_engine else {"K_SERVICE": "injector"}
    environ(deployment.outputs["service_environment"], PORT="8080", **platform)
    return read_service_settings()


def test_every_variable_of_the_service_is_one_of_its_settings(deployment):
    known = {f"INJECTOR_{name.upper()}" for name in Settings.model_fields} | PLATFORM
    assert deployment.outputs["service_environment"].keys() <= known


def test_the_service_can_run_with_what_it_is_given(service_settings):
    create_app(service_settings)
    assert list(service_settings.warnings()) == []


def test_the_service_listens_where_the_platform_calls(service_settings):
    assert (service_settings.host, service_settings.port) == ("0.0.0.0", 8080)


def test_callers_are_the_accounts_that_were_made(deployment, service_settings):
    accounts = deployment.outputs["accounts"]
    assert service_settings.queue_callers == (accounts["caller"],)
    assert service_settings.people == (accounts["operator"],)
    if "scheduler" in accounts:
        assert service_settings.auth == "oidc"
        assert service_settings.scheduler_callers == (accounts["scheduler"],)
    else:
        assert service_settings.auth == "app-engine"


def test_the_ledger_is_reached_by_socket_as_the_service_s_account(deployment, service_settings):
    url = parse_url(service_settings.ledger_url)
    account = deployment.outputs["accounts"]["service"]
    assert url.username == account.removesuffix(".gserviceaccount.com")
    assert url.username == deployment.all("google_sql_user")["google_sql_user.service"]["name"]
    assert url.database == deployment.one("google_sql_database")["name"]
    instance = deployment.one("google_sql_database_instance")["connection_name"]
    assert url.query == {"host": f"/cloudsql/{instance}", "login": "iam"}
    assert url.password is None


def test_no_secret_is_in_the_environment(deployment):
    url = deployment.outputs["service_environment"]["INJECTOR_LEDGER_URL"]
    assert ":" not in unquote(urlsplit(url).netloc)


def test_chunks_are_where_the_operator_puts_them(deployment, service_settings):
    bucket = deployment.one("google_storage_bucket")["name"]
    assert service_settings.store_url == f"gs://{bucket}/chunks"
    assert deployment.outputs["cli_environment"]["INJECTOR_STORE_URL"] == service_settings.store_url


def test_the_command_line_can_run_with_what_it_is_given(deployment, environ):
    environ(deployment.outputs["cli_environment"])
    settings = read_settings()
    assert settings.service_url == deployment.outputs["service_environment"]["INJECTOR_SERVICE_URL"]
    assert settings.groups


def test_jobs_are_told_to_the_topic_that_was_made_for_it(complete, minimal, environ):
    environ(complete.outputs["service_environment"])
    assert read_settings().events_topic == "projects/my-project/topics/job-events"
    assert "INJECTOR_EVENTS_TOPIC" not in minimal.outputs["service_environment"]


def test_a_token_is_asked_for_whom_and_for_what_the_service_lets_in(deployment, service_settings):
    command = deployment.outputs["token_command"]
    assert f"--audiences={service_settings.base_url} " in command
    assert f"--impersonate-service-account={service_settings.people[0]} " in command
    assert command.endswith("--include-email")
