# Everything that can be said: three groups of which one publishes to a topic and one is operated
# on by the service, a topic that is told of jobs, tasks that carry an identity, a private database, alerts to a channel, and other limits.

terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.50, < 9"
    }
  }
}

variable "image" {
  type    = string
  default = "europe-west1-docker.pkg.dev/my-project/injector/injector:0.1.0"
}

variable "ledger_admin_password" {
  type      = string
  default   = null
  ephemeral = true
  sensitive = true
}

variable "project" {
  type    = string
  default = "my-project"
}

variable "webhook_secret" {
  type      = string
  default   = null
  ephemeral = true
  sensitive = true
}

provider "google" {
  project = var.project
  region  = "europe-west1"
}

module "injector" {
  source = "../.."

  alerts = {
    backlog               = 5000000
    create_latency_s      = 0.5
    notification_channels = ["projects/${var.project}/notificationChannels/1234567890"]
  }

  events_topic = "job-events"

  groups = {
    bulk = {
      dispatch        = { concurrency = 2000, rate = 400 }
      injector_queues = 12
      log_share       = 0.001
      queues          = 20
      ramp            = { max_rate = 2000, warm_rate = 50 }
    }
    events = { topic = true }
    welcome = {
      between  = ["[0000-0006:2]a"]
      dispatch = { concurrency = 100, rate = 62.5 }
      operated = true
      queues   = 8
      retry    = { max_attempts = 20, max_retry_duration_s = 86400, min_backoff_s = 1 }
      suffix   = "b"
    }
  }

  image  = var.image
  labels = { team = "mail" }

  ledger = {
    availability_type = "REGIONAL"
    max_connections   = 1000
    network           = "projects/${var.project}/global/networks/default"
    subnetwork        = "projects/${var.project}/regions/europe-west1/subnetworks/default"
    suffix            = "b"
    tier              = "db-custom-4-15360"
  }
  ledger_admin_password         = var.ledger_admin_password
  ledger_admin_password_version = 1

  name      = "mail-injector"
  operators = ["group:mail-team@example.com", "serviceAccount:pipeline@${var.project}.iam.gserviceaccount.com"]
  project   = var.project

  service = {
    cpu                 = 4
    dispatch_deadline_s = 300
    environment         = { INJECTOR_HEDGE_DELAY_S = "0.5", INJECTOR_LOG_LEVEL = "WARNING" }
    handler_budget_s    = 120
    max_instances       = 30
    memory              = "2Gi"
    min_instances       = 1
    request_timeout_s   = 240
    worker_timeout_s    = 180
    workers             = 4
  }

  store         = { keep_days = 90 }
  task_accounts = ["worker@${var.project}.iam.gserviceaccount.com"]

  topics = {
    events = {
      schema       = { definition = jsonencode({ type = "record", name = "Event", fields = [{ name = "user", type = "string" }] }) }
      subscription = { max_attempts = 10 }
    }
  }

  webhook_secret         = var.webhook_secret
  webhook_secret_version = 1
}

output "groups" {
  value = module.injector.groups
}

output "injector" {
  value = module.injector
}
