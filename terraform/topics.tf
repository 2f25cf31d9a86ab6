# The topics of groups, with what else a topic may have: a schema, a subscription, dead letters;
# and the topic that is told of jobs.

locals {
  events        = { for kind in ["jobs"] : kind => var.events_topic if var.events_topic != "" }
  topics        = { for name, group in var.groups : name => local.group_ids[name] if group.topic }
  schemas       = { for name, more in var.topics : name => more.schema if more.schema != null }
  subscriptions = { for name, more in var.topics : name => more.subscription if more.subscription != null }
  dead_letters  = { for name, subscription in local.subscriptions : name => subscription.max_attempts if subscription.max_attempts != null }

  # Pub/Sub itself moves dead letters, as this agent.
  pubsub_agent = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-pubsub.iam.gserviceaccount.com"
}

resource "google_pubsub_schema" "this" {
  for_each   = local.schemas
  project    = var.project
  name       = local.topics[each.key]
  type       = each.value.type
  definition = each.value.definition

  depends_on = [google_project_service.this]
}

resource "google_pubsub_topic" "this" {
  for_each = local.topics
  project  = var.project
  name     = each.value
  labels   = var.labels

  dynamic "schema_settings" {
    for_each = contains(keys(local.schemas), each.key) ? [local.schemas[each.key]] : []
    content {
      schema   = google_pubsub_schema.this[each.key].id
      encoding = schema_settings.value.encoding
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_pubsub_topic_iam_member" "publishes" {
  for_each = google_pubsub_topic.this
  project  = var.project
  topic    = each.value.name
  role     = "roles/pubsub.publisher"
  member   = local.account["service"].member
}

resource "google_pubsub_subscription" "this" {
  for_each             = local.subscriptions
  project              = var.project
  name                 = google_pubsub_topic.this[each.key].name
  topic                = google_pubsub_topic.this[each.key].id
  ack_deadline_seconds = each.value.ack_deadline_s
  labels               = var.labels

  dynamic "dead_letter_policy" {
    for_each = contains(keys(local.dead_letters), each.key) ? [local.dead_letters[each.key]] : []
    content {
      dead_letter_topic     = google_pubsub_topic.dead[each.key].id
      max_delivery_attempts = dead_letter_policy.value
    }
  }

  expiration_policy {
    ttl = "" # never, however long nobody reads
  }
}

resource "google_pubsub_topic" "dead" {
  for_each = local.dead_letters
  project  = var.project
  name     = "${local.topics[each.key]}-dead"
  labels   = var.labels

  depends_on = [google_project_service.this]
}

# Without a subscription a dead letter would be lost.
resource "google_pubsub_subscription" "dead" {
  for_each                   = google_pubsub_topic.dead
  project                    = var.project
  name                       = each.value.name
  topic                      = each.value.id
  labels                     = var.labels
  message_retention_duration = "2678400s"

  expiration_policy {
    ttl = ""
  }
}

resource "google_pubsub_topic_iam_member" "buries" {
  for_each = google_pubsub_topic.dead
  project  = var.project
  topic    = each.value.name
  role     = "roles/pubsub.publisher"
  member   = local.pubsub_agent
}

resource "google_pubsub_subscription_iam_member" "hands_over" {
  for_each     = local.dead_letters
  project      = var.project
  subscription = google_pubsub_subscription.this[each.key].name
  role         = "roles/pubsub.subscriber"
  member       = local.pubsub_agent
}

resource "google_pubsub_topic" "events" {
  for_each = local.events
  project  = var.project
  name     = each.value
  labels   = var.labels

  depends_on = [google_project_service.this]
}

resource "google_pubsub_topic_iam_member" "tells" {
  for_each = google_pubsub_topic.events
  project  = var.project
  topic    = each.value.name
  role     = "roles/pubsub.publisher"
  member   = local.account["service"].member
}
