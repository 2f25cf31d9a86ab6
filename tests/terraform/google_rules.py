"""What the provider and the API refuse and no schema says: ranges, patterns, names of roles. Pure.

Only of what the module sets. The roles are those that Google lists for the services in use:
https://cloud.google.com/iam/docs/roles-permissions.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from tests.terraform.google_values import UNKNOWN, Path, Value

Holds = Callable[[object], bool]

ROLES = frozenset(
    f"roles/{role}"
    for role in [
        "cloudsql.admin",
        "cloudsql.client",
        "cloudsql.editor",
        "cloudsql.instanceUser",
        "cloudsql.viewer",
        "cloudtasks.admin",
        "cloudtasks.enqueuer",
        "cloudtasks.queueAdmin",
        "cloudtasks.taskDeleter",
        "cloudtasks.taskRunner",
        "cloudtasks.viewer",
        "iam.serviceAccountOpenIdTokenCreator",
        "iam.serviceAccountTokenCreator",
        "iam.serviceAccountUser",
        "monitoring.editor",
        "monitoring.metricWriter",
        "monitoring.viewer",
        "pubsub.admin",
        "pubsub.editor",
        "pubsub.publisher",
        "pubsub.subscriber",
        "pubsub.viewer",
        "run.admin",
        "run.developer",
        "run.invoker",
        "run.viewer",
        "secretmanager.admin",
        "secretmanager.secretAccessor",
        "secretmanager.viewer",
        "storage.admin",
        "storage.objectAdmin",
        "storage.objectCreator",
        "storage.objectUser",
        "storage.objectViewer",
    ]
)
TARGETS = ("app_engine_http_target", "http_target", "pubsub_target")


def _within(least: float, most: float) -> Holds:
    return lambda value: least <= float(str(value)) <= most


def _shaped(pattern: str) -> Holds:
    return lambda value: re.fullmatch(pattern, str(value)) is not None


RULES: Mapping[tuple[str, Path], tuple[Holds, str]] = {
    ("google_cloud_tasks_queue", ("rate_limits", "max_concurrent_dispatches")): (
        _within(1, 5000),
        "a queue has 1 to 5000 dispatches at once",
    ),
    ("google_cloud_tasks_queue", ("rate_limits", "max_dispatches_per_second")): (
        _within(0.001, 500),
        "a queue dispatches at most 500 tasks a second",
    ),
    ("google_cloud_tasks_queue", ("name",)): (
        _shaped("[A-Za-z0-9-]{1,100}"),
        "a queue's name is letters, digits and hyphens",
    ),
    ("google_sql_database", ("name",)): (
        _shaped("[A-Za-z_][A-Za-z0-9_-]{0,62}"),
        "a database's name is letters, digits, underscores and hyphens",
    ),
    ("google_cloud_scheduler_job", ("schedule",)): (
        _shaped(r"([0-9*,/-]+ ){4}[0-9*,/-]+|every .*"),
        "a schedule has five fields",
    ),
}


def broken(kind: str, value: Value) -> Iterator[tuple[Path, str]]:
    """Yield where a resource is not what Google takes, and why."""
    for (of, path), (holds, words) in RULES.items():
        if of == kind:
            yield from ((path, words) for found in _at(value, path) if not holds(found))
    if kind.endswith("_iam_member"):
        roles = _at(value, ("role",))
        yield from ((("role",), f"there is no {role}") for role in roles if role not in ROLES)
    if kind == "google_cloud_scheduler_job" and sum(bool(value.get(each)) for each in TARGETS) != 1:
        yield (), f"one of {', '.join(TARGETS)} is needed"


def _at(value: object, path: Path) -> Iterator[object]:
    """Yield the known values at a path, in every block that it leads through."""
    if isinstance(value, list):
        for item in value:
            yield from _at(item, path)
    elif not path:
        yield from () if value is None or value == UNKNOWN else (value,)
    elif isinstance(value, dict):
        yield from _at(value.get(path[0]), path[1:])
