import pytest

from handlers.access import ROLES
from handlers.app import create_app
from handlers.auth import Role
from tests.house import settings_of
from tests.terraform.conftest import SECRETS

SERVICE = "google_cloud_run_v2_service"
JOB = "google_cloud_run_v2_job"


@pytest.fixture(params=["minimal", "complete"])
def on_cloud_run(request):
    """Each of the examples that run on Cloud Run, applied."""
    return request.getfixturevalue(request.param)


def template_of(deployment):
    (template,) = deployment.one(SERVICE)["template"]
    return template


def container_of(deployment):
    (container,) = template_of(deployment)["containers"]
    return container


def environment_of(container):
    plain = [variable for variable in container["env"] if not variable["value_source"]]
    return {variable["name"]: variable["value"] for variable in plain}


def rules():
    """Return the routes of the service by path."""
    routes = create_app(settings_of()).url_map.iter_rules()
    return {rule.rule: rule.endpoint for rule in routes}


def test_each_limit_ends_before_the_one_around_it(on_cloud_run):
    environment = environment_of(container_of(on_cloud_run))
    limits = [
        float(environment["INJECTOR_HANDLER_BUDGET_S"]),
        float(environment["INJECTOR_WORKER_TIMEOUT_S"]),
        float(template_of(on_cloud_run)["timeout"].removesuffix("s")),
        float(environment["INJECTOR_DISPATCH_DEADLINE_S"]),
    ]
    assert limits == sorted(set(limits))


def test_the_service_is_told_the_platform_s_own_limit(on_cloud_run):
    told = environment_of(container_of(on_cloud_run))["INJECTOR_REQUEST_TIMEOUT_S"]
    assert template_of(on_cloud_run)["timeout"] == f"{told}s"


def test_an_instance_takes_as_many_requests_as_it_has_threads(on_cloud_run):
    environment = environment_of(container_of(on_cloud_run))
    threads = int(environment["INJECTOR_WORKERS"]) * int(environment["INJECTOR_THREADS"])
    assert template_of(on_cloud_run)["max_instance_request_concurrency"] == threads


def test_the_service_knows_how_many_instances_it_may_have(on_cloud_run):
    (scaling,) = template_of(on_cloud_run)["scaling"]
    told = environment_of(container_of(on_cloud_run))["INJECTOR_INSTANCES"]
    assert int(told) == scaling["max_instance_count"]


def test_the_database_has_a_connection_for_every_thread(on_cloud_run):
    (settings,) = on_cloud_run.one("google_sql_database_instance")["settings"]
    flags = {flag["name"]: flag["value"] for flag in settings["database_flags"]}
    (scaling,) = template_of(on_cloud_run)["scaling"]
    threads = template_of(on_cloud_run)["max_instance_request_concurrency"]
    assert int(flags["max_connections"]) > scaling["max_instance_count"] * threads
    assert flags["cloudsql.iam_authentication"] == "on"


def test_probes_ask_a_route_that_is_open_and_asks_nobody_else(on_cloud_run):
    container = container_of(on_cloud_run)
    for probe in ("startup_probe", "liveness_probe"):
        path = container[probe][0]["http_get"][0]["path"]
        assert rules()[path] == "health.healthz"


def test_the_clock_calls_the_tick_every_minute_as_whom_it_lets_in(on_cloud_run):
    job = on_cloud_run.one("google_cloud_scheduler_job")
    (target,) = job["http_target"]
    url = on_cloud_run.outputs["cli_environment"]["INJECTOR_SERVICE_URL"]
    assert (job["schedule"], target["http_method"]) == ("* * * * *", "POST")
    assert ROLES[rules()[target["uri"].removeprefix(url)]] is Role.SCHEDULER
    (token,) = target["oidc_token"]
    assert (token["audience"], token["service_account_email"]) == (
        url,
        on_cloud_run.outputs["accounts"]["scheduler"],
    )


def test_a_tick_may_take_as_long_as_its_handler(on_cloud_run):
    deadline = on_cloud_run.one("google_cloud_scheduler_job")["attempt_deadline"]
    environment = environment_of(container_of(on_cloud_run))
    assert float(deadline.removesuffix("s")) > float(environment["INJECTOR_HANDLER_BUDGET_S"])


def test_tokens_for_the_service_s_own_url_are_taken(on_cloud_run):
    environment = environment_of(container_of(on_cloud_run))
    assert on_cloud_run.one(SERVICE)["custom_audiences"] == [environment["INJECTOR_SERVICE_URL"]]


def test_tables_are_upgraded_by_the_same_image_in_the_same_environment(on_cloud_run):
    (outer,) = on_cloud_run.one(JOB)["template"]
    (template,) = outer["template"]
    (container,) = template["containers"]
    assert container["command"] == ["injector", "db", "upgrade"]
    assert container["image"] == container_of(on_cloud_run)["image"]
    assert environment_of(container) == environment_of(container_of(on_cloud_run))
    assert template["service_account"] == template_of(on_cloud_run)["service_account"]
    assert on_cloud_run.outputs["upgrade_command"].startswith(
        f"gcloud run jobs execute {on_cloud_run.one(JOB)['name']} "
    )


def test_service_and_upgrade_reach_the_ledger_s_socket(on_cloud_run):
    instance = on_cloud_run.one("google_sql_database_instance")["connection_name"]
    (outer,) = on_cloud_run.one(JOB)["template"]
    for template in (template_of(on_cloud_run), outer["template"][0]):
        (volume,), (container,) = template["volumes"], template["containers"]
        assert list(volume["cloud_sql_instance"][0]["instances"]) == [instance]
        assert container["volume_mounts"][0]["mount_path"] == "/cloudsql"


def test_a_private_ledger_has_no_public_address_and_the_service_a_way_to_it(complete, minimal):
    def addresses(deployment):
        (settings,) = deployment.one("google_sql_database_instance")["settings"]
        (ip,) = settings["ip_configuration"]
        return ip["ipv4_enabled"], ip["private_network"]

    assert addresses(minimal) == (True, None)
    assert addresses(complete) == (False, "projects/my-project/global/networks/default")
    (access,) = template_of(complete)["vpc_access"]
    assert access["egress"] == "PRIVATE_RANGES_ONLY"
    assert template_of(minimal)["vpc_access"] == []


def test_the_ledger_lets_in_connectors_alone(deployment):
    (settings,) = deployment.one("google_sql_database_instance")["settings"]
    assert settings["connector_enforcement"] == "REQUIRED"
    assert settings["ip_configuration"][0]["authorized_networks"] == []


def test_secrets_are_kept_nowhere_here(complete):
    folder = complete.workspace.folder
    kept = [path for path in folder.rglob("*") if path.is_file() and ".tf" in path.name]
    texts = [path.read_text() for path in kept]
    assert any("google_secret_manager_secret_version" in text for text in texts)
    assert not [secret for secret in SECRETS.values() for text in texts if secret in text]


def test_the_admin_has_a_password_where_one_is_given(complete, minimal):
    admin = complete.all("google_sql_user")['google_sql_user.admin["admin"]']
    assert (admin["name"], admin["password_wo_version"]) == ("admin", 1)
    assert minimal.all("google_sql_user").keys() == {"google_sql_user.service"}


def test_the_service_gets_its_secret_from_where_it_is_kept(complete, minimal):
    variables = {variable["name"]: variable for variable in container_of(complete)["env"]}
    (source,) = variables["INJECTOR_WEBHOOK_SECRET"]["value_source"]
    (reference,) = source["secret_key_ref"]
    assert reference["secret"] == complete.one("google_secret_manager_secret")["secret_id"]
    assert reference["version"] == complete.one("google_secret_manager_secret_version")["version"]
    assert "INJECTOR_WEBHOOK_SECRET" not in environment_of(container_of(minimal))


def test_the_grant_is_to_the_service_s_user(deployment):
    user = deployment.all("google_sql_user")["google_sql_user.service"]["name"]
    assert f'TO "{user}";' in deployment.outputs["grant"]


def test_chunks_are_private_and_end_by_themselves(deployment):
    bucket = deployment.one("google_storage_bucket")
    assert bucket["public_access_prevention"] == "enforced"
    assert bucket["uniform_bucket_level_access"] is True
    rules = {
        rule["action"][0]["type"]: rule["condition"][0]["age"] for rule in bucket["lifecycle_rule"]
    }
    assert rules.keys() == {"Delete", "AbortIncompleteMultipartUpload"}
    assert rules["Delete"] >= 7


def test_everything_is_in_one_project(deployment):
    decided = "google_secret_manager_secret_version"  # by the provider, from the secret's
    values = [each["values"] for each in deployment.resources if each["type"] != decided]
    assert {each["project"] for each in values if "project" in each} == {"my-project"}
