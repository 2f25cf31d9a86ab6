"""What Google would answer, where the module builds on it. All else is made up."""

from collections.abc import Callable, Mapping

NUMBER = "123456789012"
HOSTNAME = "my-project.ew.r.appspot.com"

Answer = Callable[[Mapping[str, object]], Mapping[str, object]]


def _account(asked: Mapping[str, object]) -> Mapping[str, object]:
    email = f"{asked['account_id']}@{asked['project']}.iam.gserviceaccount.com"
    name = f"projects/{asked['project']}/serviceAccounts/{email}"
    return {"email": email, "id": name, "member": f"serviceAccount:{email}", "name": name}


def _queue(asked: Mapping[str, object]) -> Mapping[str, object]:
    parent = f"projects/{asked['project']}/locations/{asked['location']}"
    return {"id": f"{parent}/queues/{asked['name']}"}


def _topic(asked: Mapping[str, object]) -> Mapping[str, object]:
    return {"id": f"projects/{asked['project']}/topics/{asked['name']}"}


def _schema(asked: Mapping[str, object]) -> Mapping[str, object]:
    return {"id": f"projects/{asked['project']}/schemas/{asked['name']}"}


ANSWERS: Mapping[str, Answer] = {
    "google_app_engine_application": lambda _: {"default_hostname": HOSTNAME},
    "google_cloud_tasks_queue": _queue,
    "google_project": lambda _: {"number": NUMBER},
    "google_pubsub_schema": _schema,
    "google_pubsub_topic": _topic,
    "google_service_account": _account,
    "google_sql_database_instance": lambda asked: {
        "connection_name": f"{asked['project']}:{asked['region']}:{asked['name']}"
    },
}
