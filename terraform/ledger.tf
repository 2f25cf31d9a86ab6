locals {
  # A service account logs in with its access token, under its address without the suffix.
  ledger_user = trimsuffix(local.account["service"].email, ".gserviceaccount.com")
  ledger_url = format(
    "postgresql://%s@/%s?host=/cloudsql/%s&login=iam",
    urlencode(local.ledger_user),
    google_sql_database.ledger.name,
    google_sql_database_instance.ledger.connection_name,
  )
}

resource "google_sql_database_instance" "ledger" {
  project             = var.project
  region              = var.region
  name                = join("-", compact([var.name, "ledger", var.ledger.suffix]))
  database_version    = "POSTGRES_17"
  deletion_protection = var.ledger.deletion_protection

  settings {
    availability_type           = var.ledger.availability_type
    connector_enforcement       = "REQUIRED"
    deletion_protection_enabled = var.ledger.deletion_protection
    disk_autoresize             = true
    edition                     = "ENTERPRISE"
    tier                        = var.ledger.tier
    user_labels                 = var.labels

    backup_configuration {
      enabled                        = true
      point_in_time_recovery_enabled = true

      backup_retention_settings {
        retained_backups = var.ledger.backups_kept
      }
    }

    database_flags {
      name  = "cloudsql.iam_authentication"
      value = "on"
    }

    database_flags {
      name  = "log_checkpoints"
      value = "on"
    }

    database_flags {
      name  = "log_connections"
      value = "on"
    }

    database_flags {
      name  = "log_disconnections"
      value = "on"
    }

    database_flags {
      name  = "log_lock_waits"
      value = "on"
    }

    database_flags {
      name  = "max_connections"
      value = tostring(var.ledger.max_connections)
    }

    insights_config {
      query_insights_enabled = true
    }

    # Without a network there is a public address, at which only Cloud SQL's connectors get in.
    ip_configuration {
      ipv4_enabled    = var.ledger.network == null
      private_network = var.ledger.network
      ssl_mode        = "TRUSTED_CLIENT_CERTIFICATE_REQUIRED"
    }
  }

  depends_on = [google_project_service.this]
}

resource "google_sql_database" "ledger" {
  project  = var.project
  instance = google_sql_database_instance.ledger.name
  name     = "injector"
}

resource "google_sql_user" "service" {
  project  = var.project
  instance = google_sql_database_instance.ledger.name
  name     = local.ledger_user
  type     = "CLOUD_IAM_SERVICE_ACCOUNT"
}

resource "google_sql_user" "admin" {
  for_each            = var.ledger_admin_password_version > 0 ? { admin = var.ledger_admin_password_version } : {}
  project             = var.project
  instance            = google_sql_database_instance.ledger.name
  name                = each.key
  password_wo         = var.ledger_admin_password
  password_wo_version = each.value
}

resource "google_project_iam_member" "ledger" {
  for_each = {
    connects = "roles/cloudsql.client"
    logs_in  = "roles/cloudsql.instanceUser"
  }
  project = var.project
  role    = each.value
  member  = local.account["service"].member

  condition {
    title      = google_sql_database_instance.ledger.name
    expression = "resource.service == 'sqladmin.googleapis.com' && resource.name == 'projects/${var.project}/instances/${google_sql_database_instance.ledger.name}'"
  }
}
