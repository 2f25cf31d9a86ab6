locals {
  apis = toset(concat(
    [
      "cloudtasks.googleapis.com",
      "iam.googleapis.com",
      "iamcredentials.googleapis.com",
      "monitoring.googleapis.com",
      "sqladmin.googleapis.com",
      "storage.googleapis.com",
    ],
    local.on_cloud_run ? ["cloudscheduler.googleapis.com", "run.googleapis.com"] : ["appengine.googleapis.com"],
    length(local.secrets) > 0 ? ["secretmanager.googleapis.com"] : [],
    length(local.topics) + length(local.events) > 0 ? ["pubsub.googleapis.com"] : [],
  ))
  on_cloud_run = var.platform == "cloud-run"
}

data "google_project" "this" {
  project_id = var.project
}

resource "google_project_service" "this" {
  for_each           = local.apis
  project            = var.project
  service            = each.key
  disable_on_destroy = false
}
