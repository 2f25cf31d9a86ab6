# Who the parts act as. What each may do is said beside what it does it to.

locals {
  accounts = merge(
    {
      caller   = "Calls /inject: whom the injector tasks say they are"
      operator = "Submits and follows jobs: whom people and pipelines act as"
      service  = "Runs the service: creates tasks, reads chunks, keeps the ledger"
    },
    local.on_cloud_run ? { scheduler = "Calls /control/tick" } : {},
  )
  account = { for role, account in google_service_account.this : role => account }

  # Cloud Tasks itself makes the tokens that tasks carry, as this agent.
  cloud_tasks_agent = "serviceAccount:service-${data.google_project.this.number}@gcp-sa-cloudtasks.iam.gserviceaccount.com"
  carried = merge(
    { caller = google_service_account.this["caller"].name },
    { for email in var.task_accounts : email => "projects/-/serviceAccounts/${email}" },
  )
}

resource "google_service_account" "this" {
  for_each     = local.accounts
  project      = var.project
  account_id   = "${var.name}-${each.key}"
  display_name = each.value
}

resource "google_service_account_iam_member" "carries" {
  for_each           = local.carried
  service_account_id = each.value
  role               = "roles/iam.serviceAccountUser"
  member             = local.account["service"].member
}

# Injector tasks carry an ID token; a manifest's tasks may carry an access token in its place.
resource "google_service_account_iam_member" "mints" {
  for_each           = local.carried
  service_account_id = each.value
  role               = each.key == "caller" ? "roles/iam.serviceAccountOpenIdTokenCreator" : "roles/iam.serviceAccountTokenCreator"
  member             = local.cloud_tasks_agent

  depends_on = [google_project_service.this]
}

resource "google_service_account_iam_member" "operates" {
  for_each           = var.operators
  service_account_id = local.account["operator"].name
  role               = "roles/iam.serviceAccountTokenCreator"
  member             = each.key
}
