"""Mistakes made on purpose, one at a time: what a check does not reject, it does not check."""

import pytest

from tests.terraform.deployment import CHANGES, Deployment, drifted

REJECTED = {
    "a misspelt attribute": (
        "    max_dispatches_per_second = each.value.dispatch.rate",
        "    max_dispatches_per_sec = each.value.dispatch.rate",
        "Unsupported argument",
    ),
    "a missing argument": (
        '  role     = "roles/cloudtasks.queueAdmin"\n',
        "",
        "Missing required argument",
    ),
    "text for a number": (
        "    max_doublings = 6\n",
        '    max_doublings = "six"\n',
        "Incorrect attribute value type",
    ),
    "a list for a number": (
        "max_instance_count = each.value.max_instances",
        "max_instance_count = [each.value.max_instances]",
        "Incorrect attribute value type",
    ),
    "text for a flag": (
        "uniform_bucket_level_access = true",
        'uniform_bucket_level_access = "certainly"',
        "Incorrect attribute value type",
    ),
    "an undeclared resource": (
        'bucket = google_storage_bucket.chunks.name\n  role   = "roles/storage.objectViewer"',
        'bucket = google_storage_bucket.chunk.name\n  role   = "roles/storage.objectViewer"',
        "Reference to undeclared resource",
    ),
    "an attribute that the resource has not": (
        "value       = google_sql_database_instance.ledger.connection_name",
        "value       = google_sql_database_instance.ledger.connection",
        "Unsupported attribute",
    ),
    "an undeclared variable": (
        "      image = var.image\n",
        "      image = var.container\n",
        "Reference to undeclared input variable",
    ),
    "an undeclared local": (
        "custom_audiences    = [local.service_url]",
        "custom_audiences    = [local.url]",
        "Reference to undeclared local value",
    ),
    "a field that the variable's object has not": (
        "tier                        = var.ledger.tier",
        "tier                        = var.ledger.machine",
        "Unsupported attribute",
    ),
    "a block written as an attribute": (
        "  rate_limits {\n    max_concurrent_dispatches = 10",
        "  rate_limits = {\n    max_concurrent_dispatches = 10",
        "Unsupported argument",
    ),
    "an attribute written as a block": (
        "        limits = {\n",
        "        limits {\n",
        "Unsupported block type",
    ),
    "a missing block": (
        '    action {\n      type = "Delete"\n    }\n',
        "",
        "Insufficient action blocks",
    ),
    "a second block where one is allowed": (
        "  soft_delete_policy {\n",
        "  soft_delete_policy {\n  }\n\n  soft_delete_policy {\n",
        "Too many soft_delete_policy blocks",
    ),
    "an unknown block": (
        "      liveness_probe {\n",
        "      readiness {\n",
        "Unsupported block type",
    ),
    "an unknown type of resource": (
        'resource "google_pubsub_topic" "this"',
        'resource "google_pubsub_topics" "this"',
        "Invalid resource type",
    ),
    "an attribute that the provider decides": (
        "  custom_audiences    = [local.service_url]\n",
        '  custom_audiences    = [local.service_url]\n  uri = "https://injector.example"\n',
        '"uri" is decided by the provider and cannot be set',
    ),
    "a comparison that there is not": (
        'comparison         = "COMPARISON_GT"',
        'comparison         = "GT"',
        "expected comparison to be one of",
    ),
    "ignoring changes to what the queue has not": (
        "      rate_limits[0].max_dispatches_per_second,\n",
        "      rate_limits[0].max_rate,\n",
        "Unsupported attribute",
    ),
    "a wrong number of arguments to a function": (
        'trimsuffix(local.account["service"].email, ".gserviceaccount.com")',
        'trimsuffix(local.account["service"].email)',
        "Not enough function arguments",
    ),
    "a write-only password without the right name": (
        "password_wo         = var.ledger_admin_password",
        "password            = var.ledger_admin_password",
        "Invalid use of ephemeral value",
    ),
    "an output that shows the password": (
        "value       = google_sql_database_instance.ledger.connection_name",
        "value       = var.ledger_admin_password",
        "Output refers to sensitive values",
    ),
    "resources that depend on each other": (
        'coalesce(var.store.name, "${var.project}-${var.name}-chunks")',
        "local.store_url",
        "Cycle: ",
    ),
    "a duplicate resource": (
        'resource "google_storage_bucket_iam_member" "stages"',
        'resource "google_storage_bucket_iam_member" "reads"',
        'Duplicate resource "google_storage_bucket_iam_member" configuration',
    ),
    "for_each over what is no map": (
        "  for_each = local.topics\n",
        "  for_each = length(local.topics)\n",
        "Invalid for_each argument",
    ),
    "a number out of the API's range": (
        "max_concurrent_dispatches = 10\n",
        "max_concurrent_dispatches = 6000\n",
        "a queue has 1 to 5000 dispatches at once",
    ),
    "a name that the API does not take": (
        '  name     = "injector"\n',
        '  name     = "in/jector"\n',
        "a database's name is",
    ),
    "two targets of which one is allowed": (
        "  http_target {\n",
        '  pubsub_target {\n    topic_name = "t"\n  }\n\n  http_target {\n',
        "one of app_engine_http_target, http_target, pubsub_target is needed",
    ),
    "a role that there is not": (
        '  role     = "roles/pubsub.publisher"\n',
        '  role     = "roles/pubsub.publishers"\n',
        "there is no roles/pubsub.publishers",
    ),
    "a schedule that is none": (
        'schedule         = "* * * * *"',
        'schedule         = "often"',
        "a schedule has five fields",
    ),
}

# Sound Terraform that breaks a promise: terraform/tests/promises.tftest.hcl holds them.
LOOSENED = {
    "an administrator of all of Cloud Tasks": (
        '"roles/cloudtasks.queueAdmin"',
        '"roles/cloudtasks.admin"',
        "no more than their administrator",
    ),
    "an administrator of the groups' queues": (
        '"ramps" {\n  for_each = google_cloud_tasks_queue.injector\n',
        '"ramps" {\n  for_each = google_cloud_tasks_queue.target\n',
        "and no others",
    ),
    "an administrator of groups that nobody operates": (
        " => group if group.operated }",
        " => group }",
        "and of no other",
    ),
    "a service that tells nobody of jobs": (
        '"INJECTOR_EVENTS_TOPIC" => topic.id',
        '"INJECTOR_EVENTS_TOPIC" => ""',
        "does not tell the topic of jobs",
    ),
    "a service that cannot take tasks back": (
        '["enqueuer", "taskDeleter", "viewer"]',
        '["enqueuer", "viewer"]',
        "take back tasks",
    ),
    "a service that anyone may call": (
        "  member   = each.value\n",
        '  member   = "allUsers"\n',
        "nobody else",
    ),
    "a service that changes chunks": (
        '"roles/storage.objectViewer"',
        '"roles/storage.objectAdmin"',
        "change none",
    ),
    "an administrator of databases": (
        '"roles/cloudsql.client"',
        '"roles/cloudsql.admin"',
        "connect to the ledger",
    ),
    "a publisher that is another account": (
        '  role     = "roles/pubsub.publisher"\n  member   = local.account["service"].member',
        '  role     = "roles/pubsub.publisher"\n  member   = local.account["operator"].member',
        "publish to its groups",
    ),
    "a start that waits for the ledger's tables": (
        '        timeout_seconds   = 2\n\n        http_get {\n          path = "/healthz"',
        '        timeout_seconds   = 2\n\n        http_get {\n          path = "/readyz"',
        "needs a caller, or the ledger's tables",
    ),
    "a probe that gives up while the service starts": (
        "failure_threshold = 20",
        "failure_threshold = 2",
        "half a minute to start",
    ),
    "a service that does not look at its queues": (
        'INJECTOR_MONITORING          = "on"',
        'INJECTOR_MONITORING          = "off"',
        "does not look",
    ),
}

# What is ignored is seen only when somebody else has changed it: what is changed, and whether
# the change is to be put back.
RATE, ATTEMPTS = {"max_dispatches_per_second": 50.0}, {"max_attempts": 1}
IGNORED = {
    "a ramp that is put back": (
        "      rate_limits[0].max_dispatches_per_second,\n",
        "",
        ("welcome-injector-0", "rate_limits", RATE),
        False,
    ),
    "attempts that are left to others": (
        "      rate_limits[0].max_dispatches_per_second,\n",
        "      rate_limits[0].max_dispatches_per_second,\n      retry_config,\n",
        ("welcome-injector-0", "retry_config", ATTEMPTS),
        True,
    ),
}


@pytest.mark.parametrize("mistake", REJECTED)
def test_a_mistake_is_rejected(workspace, mistake):
    old, new, complaint = REJECTED[mistake]
    workspace.edit(old, new)
    complaints = workspace.complaints()
    assert any(each.startswith(complaint) for each in complaints), complaints


@pytest.mark.parametrize("mistake", LOOSENED)
def test_a_promise_that_is_broken_is_noticed(workspace, mistake):
    old, new, complaint = LOOSENED[mistake]
    workspace.edit(old, new)
    outcome = workspace.run("test", "-no-color", "-filter=tests/promises.tftest.hcl")
    assert outcome.code != 0
    assert complaint in " ".join(outcome.said.replace("│", " ").split())


@pytest.mark.parametrize("mistake", IGNORED)
def test_what_is_ignored_by_mistake_is_noticed(workspace, google, mistake):
    old, new, (queue, block, values), put_back = IGNORED[mistake]
    workspace.edit(old, new)
    applied = Deployment.of(workspace.example("minimal"))
    with drifted(google, queue, block, values):
        code = applied.workspace.run("plan", "-detailed-exitcode", "-input=false").code
    assert (code == CHANGES) != put_back
