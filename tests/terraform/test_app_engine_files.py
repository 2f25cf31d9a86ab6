import hashlib
import re
import subprocess
import zipfile

import pytest
from ruamel.yaml import YAML

from handlers.access import ROLES
from handlers.app import create_app
from handlers.auth import Role
from injector.settings import Settings
from tests.house import settings_of
from tests.terraform.workspace import ROOT

LONGEST_REQUEST_S = 600  # App Engine's, with automatic scaling


def read(path):
    """Read a YAML file; a key that is there twice is an error."""
    return YAML(typ="safe", pure=True).load(path.read_text())


@pytest.fixture(scope="module")
def bundle(app_engine, tmp_path_factory):
    """What `make app-engine` makes of a deployment's output."""
    folder = tmp_path_factory.mktemp("bundle")
    rest = folder / "rest.yaml"
    rest.write_text(app_engine.outputs["app_yaml"])
    made = folder / "made"
    make = ["make", "--silent", "-o", ".venv/.installed", "app-engine"]
    done = subprocess.run(
        [*make, f"REST={rest}", f"APP_ENGINE={made}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return made


def test_the_environment_and_the_account_come_from_the_deployment(bundle, app_engine):
    app = read(bundle / "app.yaml")
    assert app["env_variables"] == app_engine.outputs["service_environment"]
    assert app["service_account"] == app_engine.outputs["accounts"]["service"]


def test_what_is_deployed_is_the_wheel_pinned_like_all_else(bundle):
    (wheel,) = bundle.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    requirements = (bundle / "requirements.txt").read_text()
    assert requirements.endswith(f"\n./{wheel.name} --hash=sha256:{digest}\n")
    assert requirements.startswith((ROOT / "requirements" / "service.txt").read_text())
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {"handlers/wsgi.py", "injector/ledger/migrations/env.py"} <= names


def test_app_engine_runs_gunicorn_itself_as_the_image_does():
    entrypoint = read(ROOT / "app.yaml")["entrypoint"]
    assert entrypoint == "exec python3 -m gunicorn --config python:handlers.gunicorn_config"


def test_an_instance_takes_as_many_requests_as_it_has_threads(app_engine):
    scaling = read(ROOT / "app.yaml")["automatic_scaling"]
    environment = app_engine.outputs["service_environment"]
    threads = int(environment["INJECTOR_WORKERS"]) * int(environment["INJECTOR_THREADS"])
    assert scaling["max_concurrent_requests"] == threads
    assert scaling["max_instances"] == int(environment["INJECTOR_INSTANCES"])
    (settings,) = app_engine.one("google_sql_database_instance")["settings"]
    flags = {flag["name"]: flag["value"] for flag in settings["database_flags"]}
    assert int(flags["max_connections"]) > scaling["max_instances"] * threads


def test_each_limit_ends_before_the_one_around_it(app_engine):
    environment = app_engine.outputs["service_environment"]
    names = ("HANDLER_BUDGET_S", "WORKER_TIMEOUT_S", "DISPATCH_DEADLINE_S")
    limits = [float(environment[f"INJECTOR_{name}"]) for name in names]
    assert [*limits, LONGEST_REQUEST_S] == sorted({*limits, LONGEST_REQUEST_S})


def test_limits_without_any_wishes_are_nested_too():
    settings = Settings.model_construct()
    limits = [
        settings.handler_budget_s,
        settings.worker_timeout_s,
        settings.request_timeout_s,
        settings.dispatch_deadline_s,
    ]
    assert limits == sorted(set(limits))


def test_all_requests_come_encrypted():
    assert [handler["secure"] for handler in read(ROOT / "app.yaml")["handlers"]] == ["always"]


def test_cron_calls_the_tick_every_minute():
    (job,) = read(ROOT / "cron.yaml")["cron"]
    rules = {rule.rule: rule.endpoint for rule in create_app(settings_of()).url_map.iter_rules()}
    assert ROLES[rules[job["url"]]] is Role.SCHEDULER
    assert re.fullmatch(r"every 1 minutes", job["schedule"])
