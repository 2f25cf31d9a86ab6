output "accounts" {
  description = "The e-mail addresses of the service accounts, by role."
  value       = { for role, account in google_service_account.this : role => account.email }
}

output "app_yaml" {
  description = "What app.yaml needs besides what it has, for App Engine."
  value = local.on_cloud_run ? "" : yamlencode({
    env_variables   = local.service_environment
    service_account = local.account["service"].email
  })
}

output "cli_environment" {
  description = "The environment of the command line, besides INJECTOR_TOKEN."
  value = {
    GOOGLE_CLOUD_PROJECT = var.project
    INJECTOR_GROUPS      = local.groups
    INJECTOR_SERVICE_URL = local.service_url
    INJECTOR_STORE_URL   = local.store_url
  }
}

output "grant" {
  description = "The SQL that the database user `admin` runs once, in the ledger's database."
  value       = "GRANT CREATE, USAGE ON SCHEMA public TO \"${local.ledger_user}\";"
}

output "groups" {
  description = "The service's configuration of groups: INJECTOR_GROUPS, as JSON."
  value       = local.groups
}

output "ledger_instance" {
  description = "The ledger's instance, as Cloud SQL's connectors call it."
  value       = google_sql_database_instance.ledger.connection_name
}

output "queues" {
  description = "The names of all queues."
  value       = sort([for queue in merge(google_cloud_tasks_queue.injector, google_cloud_tasks_queue.target) : queue.name])
}

output "service_environment" {
  description = "The environment of the service."
  value       = local.service_environment
}

output "service_url" {
  description = "The service's base URL, which is also the audience of its callers' tokens."
  value       = local.service_url
}

output "store_url" {
  description = "Where chunks are kept."
  value       = local.store_url
}

output "token_command" {
  description = "The command that prints INJECTOR_TOKEN; a token lasts an hour."
  value       = "gcloud auth print-identity-token --impersonate-service-account=${local.account["operator"].email} --audiences=${local.service_url} --include-email"
}

output "upgrade_command" {
  description = "The command that brings the ledger's tables to what the image expects."
  value       = local.on_cloud_run ? "gcloud run jobs execute ${google_cloud_run_v2_job.upgrade["upgrade"].name} --project=${var.project} --region=${var.region} --wait" : ""
}
