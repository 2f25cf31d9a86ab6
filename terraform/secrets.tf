locals {
  secrets = var.webhook_secret_version > 0 ? { webhook = var.webhook_secret_version } : {}
}

resource "google_secret_manager_secret" "this" {
  for_each  = local.secrets
  project   = var.project
  secret_id = "${var.name}-${each.key}"
  labels    = var.labels

  replication {
    auto {}
  }

  depends_on = [google_project_service.this]
}

resource "google_secret_manager_secret_version" "this" {
  for_each               = local.secrets
  secret                 = google_secret_manager_secret.this[each.key].id
  secret_data_wo         = var.webhook_secret
  secret_data_wo_version = each.value
}

resource "google_secret_manager_secret_iam_member" "signs" {
  for_each  = google_secret_manager_secret.this
  project   = var.project
  secret_id = each.value.secret_id
  role      = "roles/secretmanager.secretAccessor"
  member    = local.account["service"].member
}
