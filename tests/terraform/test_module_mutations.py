"""Mistakes made on purpose, one at a time: what a check does not reject, it does not check."""

import pytest

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
}

# Only the provider, or Google, knows these; the plans' tests hold what matters of them.
ACCEPTED = {
    "a number out of the API's range": (
        "max_concurrent_dispatches = 10\n",
        "max_concurrent_dispatches = 6000\n",
    ),
    "a name that the API does not take": (
        '  name     = "injector"\n',
        '  name     = "in/jector"\n',
    ),
    "two targets of which one is allowed": (
        "  http_target {\n",
        '  pubsub_target {\n    topic_name = "t"\n  }\n\n  http_target {\n',
    ),
    "a role that there is not": (
        '  role     = "roles/pubsub.publisher"\n',
        '  role     = "roles/pubsub.publishers"\n',
    ),
    "a schedule that is none": (
        'tick = "* * * * *"',
        'tick = "often"',
    ),
}


@pytest.mark.parametrize("mistake", REJECTED)
def test_a_mistake_is_rejected(workspace, mistake):
    old, new, complaint = REJECTED[mistake]
    workspace.edit(old, new)
    complaints = workspace.complaints()
    assert any(each.startswith(complaint) for each in complaints), complaints


@pytest.mark.parametrize("gap", ACCEPTED)
def test_a_known_gap_is_still_one(workspace, gap):
    workspace.edit(*ACCEPTED[gap])
    assert workspace.complaints() == []
