import pytest

from injector.clock import FastClock, SystemClock
from injector.errors import Misused
from injector.settings import (
    Settings,
    is_loopback,
    read_service_settings,
    read_settings,
    read_settings_without_groups,
)

GROUPS = """
groups:
  welcome:
    injector_queues: projects/p/locations/l/queues/injector
    queues: projects/p/locations/l/queues/welcome-[0-3]
"""
SERVICE = {
    "INJECTOR_GROUPS": GROUPS,
    "INJECTOR_SERVICE_URL": "https://injector.example",
    "INJECTOR_QUEUE_CALLERS": "queue@p.example",
    "INJECTOR_SCHEDULER_CALLERS": "clock@p.example",
    "INJECTOR_PEOPLE": "Ann@p.example, bob@p.example",
}
PLATFORM = ("K_SERVICE", "GAE_ENV", "PORT", "GOOGLE_CLOUD_PROJECT", "PROMETHEUS_MULTIPROC_DIR")


@pytest.fixture
def environ(monkeypatch):
    """Set the environment, from which everything that settings read is removed first."""
    for key in (*PLATFORM, "CLOUDTASKS_EMULATOR_HOST", "CLOUD_TASKS_EMULATOR_HOST"):
        monkeypatch.delenv(key, raising=False)

    def put(**variables: str):
        for key, value in variables.items():
            monkeypatch.setenv(key, value)

    return put


def complaint(read):
    with pytest.raises(Misused) as caught:
        read()
    return str(caught.value)


def test_nothing_set_gives_the_defaults(environ):
    settings = read_settings()
    assert settings.auth == "oidc"
    assert settings.handler_budget_s == 45
    assert settings.clock == SystemClock()


def test_a_whole_environment_is_read(environ):
    environ(**SERVICE)
    settings = read_service_settings()
    assert settings.people == ("ann@p.example", "bob@p.example")
    assert len(settings.groups["welcome"].queues) == 4


def test_groups_may_be_in_a_file(environ, tmp_path):
    file = tmp_path / "groups.yaml"
    file.write_text(GROUPS)
    environ(INJECTOR_GROUPS=str(file))
    assert list(read_settings().groups) == ["welcome"]


def test_who_only_asks_the_service_reads_all_but_the_groups(environ):
    environ(INJECTOR_GROUPS="nowhere.yaml", INJECTOR_SERVICE_URL="https://i.example")
    settings = read_settings_without_groups()
    assert (settings.groups, settings.base_url) == ({}, "https://i.example")
    environ(INJECTOR_THREADS="many")
    assert "INJECTOR_THREADS='many'" in complaint(read_settings_without_groups)


def test_a_fault_in_the_groups_names_file_and_line(environ, tmp_path):
    file = tmp_path / "groups.yaml"
    file.write_text("groups:\n  welcome:\n    injector_queue: x\n")
    environ(INJECTOR_GROUPS=str(file))
    assert f"{file}:3:5" in complaint(read_settings)


def test_groups_in_a_file_that_is_not_there_are_named(environ):
    environ(INJECTOR_GROUPS="nowhere.yaml")
    assert "nowhere.yaml" in complaint(read_settings)


def test_all_wrong_keys_are_reported_together_with_value_and_range(environ):
    environ(
        INJECTOR_AUTH="none",
        INJECTOR_HANDLER_BUDGET_S="0",
        INJECTOR_THREADS="many",
        PORT="99999",
        INJECTOR_PEOPLE="ann",
    )
    message = complaint(read_settings)
    assert "INJECTOR_AUTH='none': needs oidc, app-engine or off" in message
    assert "INJECTOR_HANDLER_BUDGET_S='0': needs seconds above 0 and at most 1800" in message
    assert "INJECTOR_THREADS='many': needs a number of threads from 1 to 256" in message
    assert "INJECTOR_PORT='99999': needs a port from 1 to 65535" in message
    assert "INJECTOR_PEOPLE='ann': needs e-mail addresses, separated by commas" in message


def test_wrong_values_do_not_hide_wrong_combinations(environ):
    environ(**SERVICE, INJECTOR_THREADS="0", INJECTOR_HANDLER_BUDGET_S="60")
    message = complaint(read_service_settings)
    assert "INJECTOR_THREADS='0'" in message
    assert (
        "INJECTOR_HANDLER_BUDGET_S='60': needs to be less than INJECTOR_WORKER_TIMEOUT_S" in message
    )


@pytest.mark.parametrize("value", ["nan", "inf", "-1", ""])
def test_a_clock_speed_that_is_no_speed_is_refused_or_unset(environ, value):
    environ(INJECTOR_CLOCK_SPEED=value)
    if value:
        assert "INJECTOR_CLOCK_SPEED" in complaint(read_settings)
    else:
        assert read_settings().clock_speed == 1


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ("0", True),
        ("0.1", True),
        ("10", True),
        ("0.05", False),
        ("-1", False),
        ("11", False),
        ("nan", False),
    ],
)
def test_a_hedge_delay_is_in_range_or_off(environ, value, fits):
    environ(INJECTOR_HEDGE_DELAY_S=value)
    if fits:
        assert read_settings().hedge_delay_s == float(value)
    else:
        assert "needs seconds from 0.1 to 10, or 0 for no hedges" in complaint(read_settings)


@pytest.mark.parametrize(
    ("variables", "follows"), [({}, True), ({"INJECTOR_HEDGE_DELAY_S": "1"}, False)]
)
def test_a_hedge_delay_follows_the_live_p95_unless_one_is_chosen(environ, variables, follows):
    environ(**variables)
    settings = read_settings()
    assert (settings.hedge_delay_s, settings.hedge_follows) == (1.0, follows)


@pytest.mark.parametrize("key", ["injector_handler_budget_s", "Injector_Handler_Budget_S"])
def test_a_key_in_small_letters_is_refused_with_the_one_that_is_read(environ, key):
    environ(**{key: "30"})
    assert f"{key}='30': is not a setting; did you mean INJECTOR_HANDLER_BUDGET_S?" in complaint(
        read_settings
    )


def test_an_unknown_key_is_refused_with_the_nearest_one(environ):
    environ(INJECTOR_HANDLER_BUDGET="45")
    assert "did you mean INJECTOR_HANDLER_BUDGET_S?" in complaint(read_settings)


def test_the_ledgers_password_is_never_shown(environ):
    environ(INJECTOR_LEDGER_URL="mysql://root:hunter2@db/x")
    assert "hunter2" not in complaint(read_settings)
    environ(INJECTOR_LEDGER_URL="postgresql://root:hunter2@db/x")
    assert "hunter2" not in repr(read_settings())


@pytest.mark.parametrize("name", ["CLOUDTASKS_EMULATOR_HOST", "CLOUD_TASKS_EMULATOR_HOST"])
def test_the_emulators_address_has_two_names(environ, name):
    environ(**{name: "127.0.0.1:8123"})
    assert read_settings().emulator_host == "127.0.0.1:8123"


def test_an_empty_emulator_variable_is_unset(environ):
    environ(CLOUDTASKS_EMULATOR_HOST="")
    assert read_settings().emulator_host is None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("http://localhost:8123", "localhost:8123"),
        ("https://127.0.0.1:8123/", "127.0.0.1:8123"),
        ("localhost", "localhost:8123"),
        ("[::1]:8123", "[::1]:8123"),
    ],
)
def test_an_endpoints_scheme_is_stripped(environ, written, read):
    environ(CLOUDTASKS_EMULATOR_HOST=written)
    assert read_settings().emulator_host == read


def test_an_endpoint_with_a_path_is_refused(environ):
    environ(CLOUDTASKS_EMULATOR_HOST="http://localhost:8123/v2")
    assert "CLOUDTASKS_EMULATOR_HOST" in complaint(read_settings)


@pytest.mark.parametrize(
    "sign",
    [
        {"K_SERVICE": "injector"},
        {"GAE_ENV": "standard"},
        {"INJECTOR_SERVICE_URL": "https://i.example"},
    ],
)
def test_an_emulator_in_production_is_warned_of(environ, sign):
    environ(CLOUDTASKS_EMULATOR_HOST="127.0.0.1:8123", **sign)
    (warning,) = read_settings().warnings()
    assert "CLOUDTASKS_EMULATOR_HOST" in warning


def test_an_emulator_on_this_machine_is_not_warned_of(environ):
    environ(CLOUDTASKS_EMULATOR_HOST="127.0.0.1:8123", INJECTOR_SERVICE_URL="http://localhost:8080")
    assert list(read_settings().warnings()) == []


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("https://i.example/", "https://i.example"),
        ("https://i.example/base/", "https://i.example/base"),
    ],
)
def test_a_service_url_loses_its_last_slash(environ, written, read):
    environ(INJECTOR_SERVICE_URL=written)
    assert read_settings().base_url == read


@pytest.mark.parametrize(
    "url", ["https://i.example/run?x=1", "https://i.example/#f", "i.example", "ftp://i.example"]
)
def test_a_service_url_that_cannot_be_an_audience_is_refused(environ, url):
    environ(INJECTOR_SERVICE_URL=url)
    assert "INJECTOR_SERVICE_URL" in complaint(read_settings)


@pytest.mark.parametrize("missing", [key for key in SERVICE if key != "INJECTOR_GROUPS"])
def test_a_service_that_verifies_callers_must_know_them(environ, missing):
    environ(**{key: value for key, value in SERVICE.items() if key != missing})
    assert f"{missing}=''" in complaint(read_service_settings)


def test_a_service_without_groups_does_not_start(environ):
    environ(**SERVICE, INJECTOR_PORT="8080")
    environ(INJECTOR_GROUPS="")
    assert "needs at least one queue group" in complaint(read_service_settings)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "injector.example"])
def test_auth_off_binds_to_loopback_or_refuses_to_start(environ, host):
    environ(INJECTOR_GROUPS=GROUPS, INJECTOR_AUTH="off", INJECTOR_HOST=host)
    assert "INJECTOR_AUTH='off'" in complaint(read_service_settings)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_auth_off_serves_on_loopback(environ, host):
    environ(INJECTOR_GROUPS=GROUPS, INJECTOR_AUTH="off", INJECTOR_HOST=host)
    assert read_service_settings().auth == "off"


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({}, "127.0.0.1:8080"),
        ({"INJECTOR_HOST": "::1", "INJECTOR_PORT": "9"}, "[::1]:9"),
        ({"K_SERVICE": "injector", "PORT": "8081"}, "0.0.0.0:8081"),
        ({"GAE_ENV": "standard"}, "0.0.0.0:8080"),
        ({"K_SERVICE": "injector", "INJECTOR_HOST": "127.0.0.1"}, "127.0.0.1:8080"),
    ],
)
def test_a_service_listens_where_it_can_be_reached(environ, given, address):
    environ(**given)
    assert read_settings().listen_at == address


def test_auth_off_is_refused_on_cloud_run(environ):
    environ(INJECTOR_GROUPS=GROUPS, INJECTOR_AUTH="off", K_SERVICE="injector")
    assert "INJECTOR_AUTH='off'" in complaint(read_service_settings)


def test_app_engines_headers_are_believed_on_app_engine_only(environ):
    environ(**SERVICE, INJECTOR_AUTH="app-engine")
    assert "INJECTOR_AUTH='app-engine'" in complaint(read_service_settings)
    environ(GAE_ENV="standard")
    assert read_service_settings().auth == "app-engine"


LOCAL_TOKENS = {
    "INJECTOR_OIDC_ISSUER": "http://127.0.0.1:9",
    "INJECTOR_OIDC_KEYS_URL": "http://127.0.0.1:9/jwks",
}


def test_the_emulators_tokens_are_accepted_in_a_local_run(environ):
    environ(**SERVICE, **LOCAL_TOKENS, CLOUDTASKS_EMULATOR_HOST="127.0.0.1:8123")
    environ(INJECTOR_SERVICE_URL="http://127.0.0.1:8080")
    assert read_service_settings().oidc_issuer == "http://127.0.0.1:9"


@pytest.mark.parametrize(
    "production", [{}, {"CLOUDTASKS_EMULATOR_HOST": "127.0.0.1:8123"}, {"K_SERVICE": "injector"}]
)
def test_the_emulators_tokens_are_refused_in_production(environ, production):
    environ(**SERVICE, **LOCAL_TOKENS, **production)
    assert "INJECTOR_OIDC_ISSUER" in complaint(read_service_settings)


def test_settings_cannot_be_changed(environ):
    settings = read_settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.port = 1


def test_a_local_run_shares_its_clock(environ):
    environ(INJECTOR_CLOCK_SPEED="60", INJECTOR_CLOCK_ORIGIN="1700000000")
    assert read_settings().clock == FastClock(60, 1_700_000_000)


def test_every_setting_says_what_it_needs():
    assert all(field.description for field in Settings.model_fields.values())


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        (None, False),
        ("0.0.0.0", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback_is_this_machine_alone(host, loopback):
    assert is_loopback(host) is loopback
