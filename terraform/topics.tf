locals {
  topics = { for name, group in var.groups : name => local.group_ids[name] if group.topic }
}

resource "google_pubsub_topic" "this" {
  for_each = local.topics
  project  = var.project
  name     = each.value
  labels   = var.labels

  depends_on = [google_project_service.this]
}

resource "google_pubsub_topic_iam_member" "publishes" {
  for_each = google_pubsub_topic.this
  project  = var.project
  topic    = each.value.name
  role     = "roles/pubsub.publisher"
  member   = local.account["service"].member
}
