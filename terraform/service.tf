locals {
  # Known before the service is, which must know its own URL.
  service_url = coalesce(
    var.service.url,
    "https://${var.name}-${data.google_project.this.number}.${var.region}.run.app",
  )

  service_environment = merge(var.service.environment, {
    INJECTOR_AUTH                = local.on_cloud_run ? "oidc" : "app-engine"
    INJECTOR_DISPATCH_DEADLINE_S = tostring(var.service.dispatch_deadline_s)
    INJECTOR_GROUPS              = local.groups
    INJECTOR_HANDLER_BUDGET_S    = tostring(var.service.handler_budget_s)
    INJECTOR_HOST                = "0.0.0.0"
    INJECTOR_INSTANCES           = tostring(var.service.max_instances)
    INJECTOR_LEDGER_URL          = local.ledger_url
    INJECTOR_MONITORING          = "on"
    INJECTOR_PEOPLE              = local.account["operator"].email
    INJECTOR_QUEUE_CALLERS       = local.account["caller"].email
    INJECTOR_REQUEST_TIMEOUT_S   = tostring(var.service.request_timeout_s)
    INJECTOR_SERVICE_URL         = local.service_url
    INJECTOR_STORE_URL           = local.store_url
    INJECTOR_THREADS             = tostring(var.service.threads)
    INJECTOR_WORKERS             = tostring(var.service.workers)
    INJECTOR_WORKER_TIMEOUT_S    = tostring(var.service.worker_timeout_s)
    },
    local.on_cloud_run ? {
      GOOGLE_CLOUD_PROJECT       = var.project
      INJECTOR_SCHEDULER_CALLERS = local.account["scheduler"].email
    } : {},
    { for kind, topic in google_pubsub_topic.events : "INJECTOR_EVENTS_TOPIC" => topic.id },
  )
  on_private_network = var.ledger.network == null ? {} : { ledger = var.ledger }
}

resource "google_cloud_run_v2_service" "this" {
  for_each            = local.on_cloud_run ? { service = var.service } : {}
  project             = var.project
  location            = var.region
  name                = var.name
  ingress             = each.value.ingress
  custom_audiences    = [local.service_url]
  deletion_protection = false
  labels              = var.labels

  template {
    service_account                  = local.account["service"].email
    timeout                          = "${each.value.request_timeout_s}s"
    max_instance_request_concurrency = each.value.workers * each.value.threads

    scaling {
      max_instance_count = each.value.max_instances
      min_instance_count = each.value.min_instances
    }

    containers {
      image = var.image

      ports {
        container_port = 8080
      }

      resources {
        cpu_idle          = true
        startup_cpu_boost = true
        limits = {
          cpu    = tostring(each.value.cpu)
          memory = each.value.memory
        }
      }

      dynamic "env" {
        for_each = local.service_environment
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = google_secret_manager_secret_version.this
        content {
          name = "INJECTOR_${upper(env.key)}_SECRET"
          value_source {
            secret_key_ref {
              secret  = google_secret_manager_secret.this[env.key].secret_id
              version = env.value.version
            }
          }
        }
      }

      # Not /readyz, which waits for tables that the first deployment has yet to make.
      startup_probe {
        failure_threshold = 20
        period_seconds    = 3
        timeout_seconds   = 2

        http_get {
          path = "/healthz"
        }
      }

      liveness_probe {
        failure_threshold = 3
        period_seconds    = 30
        timeout_seconds   = 10

        http_get {
          path = "/healthz"
        }
      }

      volume_mounts {
        name       = "cloudsql"
        mount_path = "/cloudsql"
      }
    }

    volumes {
      name = "cloudsql"
      cloud_sql_instance {
        instances = [google_sql_database_instance.ledger.connection_name]
      }
    }

    dynamic "vpc_access" {
      for_each = local.on_private_network
      content {
        egress = "PRIVATE_RANGES_ONLY"
        network_interfaces {
          network    = vpc_access.value.network
          subnetwork = vpc_access.value.subnetwork
        }
      }
    }
  }

  # What the service can do nothing without.
  depends_on = [
    google_project_iam_member.ledger,
    google_secret_manager_secret_iam_member.signs,
    google_service_account_iam_member.carries,
    google_sql_user.service,
    google_storage_bucket_iam_member.reads,
  ]
}

resource "google_cloud_run_v2_service_iam_member" "invokes" {
  for_each = local.on_cloud_run ? { for role in ["caller", "operator", "scheduler"] : role => local.account[role].member } : {}
  project  = var.project
  location = var.region
  name     = google_cloud_run_v2_service.this["service"].name
  role     = "roles/run.invoker"
  member   = each.value
}

# Brings the ledger's tables to what the image expects: gcloud run jobs execute.
resource "google_cloud_run_v2_job" "upgrade" {
  for_each            = local.on_cloud_run ? { upgrade = ["injector", "db", "upgrade"] } : {}
  project             = var.project
  location            = var.region
  name                = "${var.name}-${each.key}"
  deletion_protection = false
  labels              = var.labels

  template {
    template {
      service_account = local.account["service"].email
      max_retries     = 0
      timeout         = "900s"

      containers {
        image   = var.image
        command = each.value

        dynamic "env" {
          for_each = local.service_environment
          content {
            name  = env.key
            value = env.value
          }
        }

        volume_mounts {
          name       = "cloudsql"
          mount_path = "/cloudsql"
        }
      }

      volumes {
        name = "cloudsql"
        cloud_sql_instance {
          instances = [google_sql_database_instance.ledger.connection_name]
        }
      }

      dynamic "vpc_access" {
        for_each = local.on_private_network
        content {
          egress = "PRIVATE_RANGES_ONLY"
          network_interfaces {
            network    = vpc_access.value.network
            subnetwork = vpc_access.value.subnetwork
          }
        }
      }
    }
  }

  depends_on = [google_project_iam_member.ledger, google_sql_user.service]
}
