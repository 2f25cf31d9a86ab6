resource "google_cloud_scheduler_job" "tick" {
  for_each         = toset(local.on_cloud_run ? ["tick"] : [])
  project          = var.project
  region           = var.region
  name             = "${var.name}-${each.key}"
  description      = "Lets the controller look at each group, set its rate and feed its jobs"
  schedule         = "* * * * *"
  time_zone        = "Etc/UTC"
  attempt_deadline = "${var.service.dispatch_deadline_s}s"

  # A missed tick changes nothing, and the next one comes within a minute.
  retry_config {
    retry_count = 0
  }

  http_target {
    http_method = "POST"
    uri         = "${local.service_url}/control/tick"

    oidc_token {
      audience              = local.service_url
      service_account_email = local.account["scheduler"].email
    }
  }

  depends_on = [google_project_service.this]
}
