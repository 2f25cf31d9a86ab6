"""Who may do what: every grant there is, and no other."""

import re
from collections import Counter

from tests.terraform.google_answers import NUMBER

SERVICE, CALLER, SCHEDULER, OPERATOR = "service", "caller", "scheduler", "operator"
AGENT = f"serviceAccount:service-{NUMBER}@gcp-sa-cloudtasks.iam.gserviceaccount.com"
GRANTS = (
    "google_cloud_run_v2_service_iam_member",
    "google_cloud_tasks_queue_iam_member",
    "google_project_iam_member",
    "google_pubsub_subscription_iam_member",
    "google_pubsub_topic_iam_member",
    "google_secret_manager_secret_iam_member",
    "google_service_account_iam_member",
    "google_storage_bucket_iam_member",
)


def who(deployment, member):
    """Name one of the deployment's accounts by its role, anyone else as they are named."""
    emails = {email: role for role, email in deployment.outputs["accounts"].items()}
    return emails.get(member.removeprefix("serviceAccount:"), member)


def grants(deployment):
    """Return each grant's member and role, and on how many things of which kind."""
    return Counter(
        (
            kind.removeprefix("google_").removesuffix("_iam_member"),
            who(deployment, grant["member"]),
            grant["role"].removeprefix("roles/"),
        )
        for kind in GRANTS
        for grant in deployment.all(kind).values()
    )


def test_a_deployment_without_wishes_grants_this_and_no_more(minimal):
    assert grants(minimal) == {
        ("cloud_run_v2_service", CALLER, "run.invoker"): 1,
        ("cloud_run_v2_service", OPERATOR, "run.invoker"): 1,
        ("cloud_run_v2_service", SCHEDULER, "run.invoker"): 1,
        ("cloud_tasks_queue", SERVICE, "cloudtasks.enqueuer"): 41,
        ("cloud_tasks_queue", SERVICE, "cloudtasks.queueAdmin"): 1,
        ("cloud_tasks_queue", SERVICE, "cloudtasks.taskDeleter"): 40,
        ("cloud_tasks_queue", SERVICE, "cloudtasks.viewer"): 40,
        ("project", SERVICE, "cloudsql.client"): 1,
        ("project", SERVICE, "cloudsql.instanceUser"): 1,
        ("project", SERVICE, "monitoring.viewer"): 1,
        ("service_account", SERVICE, "iam.serviceAccountUser"): 1,
        ("service_account", AGENT, "iam.serviceAccountOpenIdTokenCreator"): 1,
        ("service_account", "user:ann@example.com", "iam.serviceAccountTokenCreator"): 1,
        ("storage_bucket", SERVICE, "storage.objectViewer"): 1,
        ("storage_bucket", OPERATOR, "storage.objectUser"): 1,
    }


def test_on_app_engine_nobody_invokes_cloud_run_and_no_account_ticks(app_engine):
    assert not app_engine.all("google_cloud_run_v2_service_iam_member")
    assert app_engine.outputs["accounts"].keys() == {SERVICE, CALLER, OPERATOR}


def administered(deployment):
    """Return the queues that anyone administers."""
    grants = deployment.all("google_cloud_tasks_queue_iam_member").values()
    return {g["name"] for g in grants if g["role"] == "roles/cloudtasks.queueAdmin"}


def injector_queues(deployment):
    return {
        queue["name"]
        for address, queue in deployment.all("google_cloud_tasks_queue").items()
        if address.startswith("google_cloud_tasks_queue.injector")
    }


def test_only_injector_queues_are_administered_where_no_group_is_operated(minimal, app_engine):
    for deployment in (minimal, app_engine):
        assert administered(deployment) == injector_queues(deployment)


def test_an_operated_group_s_own_queues_are_administered_by_the_service_and_no_others(complete):
    steered = {f"welcome-b-{number:04}" for number in range(8)}
    steered |= {f"welcome-b-{number:04}a" for number in range(0, 8, 2)}
    assert administered(complete) == injector_queues(complete) | steered
    grants = complete.all("google_cloud_tasks_queue_iam_member").values()
    admins = {g["member"] for g in grants if g["role"] == "roles/cloudtasks.queueAdmin"}
    assert {who(complete, member) for member in admins} == {SERVICE}


def test_the_service_may_create_tasks_in_every_queue(deployment):
    grants = deployment.all("google_cloud_tasks_queue_iam_member").values()
    assert {g["name"] for g in grants if g["role"] == "roles/cloudtasks.enqueuer"} == {
        queue["name"] for queue in deployment.all("google_cloud_tasks_queue").values()
    }


def carried(deployment, member):
    """Return the roles that somebody has on accounts, by the account's address."""
    return {
        re.search(r"[^/]+$", grant["service_account_id"])[0]: grant["role"].removeprefix("roles/")
        for grant in deployment.all("google_service_account_iam_member").values()
        if who(deployment, grant["member"]) == member
    }


WORKER = "worker@my-project.iam.gserviceaccount.com"


def test_only_accounts_that_tasks_carry_are_acted_as(complete):
    caller = complete.outputs["accounts"][CALLER]
    assert carried(complete, SERVICE) == {
        caller: "iam.serviceAccountUser",
        WORKER: "iam.serviceAccountUser",
    }
    assert carried(complete, AGENT) == {
        caller: "iam.serviceAccountOpenIdTokenCreator",
        WORKER: "iam.serviceAccountTokenCreator",
    }


def test_operators_act_as_the_operator_and_as_nobody_else(complete):
    grants = complete.all("google_service_account_iam_member")
    operators = {a: g for a, g in grants.items() if "operates" in a}
    assert {grant["member"] for grant in operators.values()} == {
        "group:mail-team@example.com",
        "serviceAccount:pipeline@my-project.iam.gserviceaccount.com",
    }
    assert {grant["service_account_id"].rsplit("/", 1)[-1] for grant in operators.values()} == {
        complete.outputs["accounts"][OPERATOR]
    }


def test_roles_on_the_project_hold_for_the_ledger_s_instance_alone_or_only_look(deployment):
    instance = deployment.one("google_sql_database_instance")["name"]
    for address, grant in deployment.all("google_project_iam_member").items():
        if address == "google_project_iam_member.watches":
            assert (grant["role"], grant["condition"]) == ("roles/monitoring.viewer", [])
            continue
        (condition,) = grant["condition"]
        assert (
            f"resource.name == 'projects/my-project/instances/{instance}'"
            in (condition["expression"])
        )


def test_a_service_that_publishes_may_do_so_on_its_topics_alone(complete):
    grants = complete.all("google_pubsub_topic_iam_member").values()
    ours = [grant for grant in grants if who(complete, grant["member"]) == SERVICE]
    assert sorted((grant["topic"], grant["role"]) for grant in ours) == [
        ("events", "roles/pubsub.publisher"),
        ("job-events", "roles/pubsub.publisher"),
    ]


def test_only_the_service_reads_the_secret(complete):
    grant = complete.one("google_secret_manager_secret_iam_member")
    assert (who(complete, grant["member"]), grant["secret_id"], grant["role"]) == (
        SERVICE,
        "mail-injector-webhook",
        "roles/secretmanager.secretAccessor",
    )


def test_nothing_is_granted_to_everyone(deployment):
    members = {g["member"] for kind in GRANTS for g in deployment.all(kind).values()}
    assert not {"allUsers", "allAuthenticatedUsers"} & members
