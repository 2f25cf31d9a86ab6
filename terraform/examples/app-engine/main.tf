# All but the service itself, which gcloud deploys with app.yaml and cron.yaml.

terraform {
  required_version = ">= 1.11"

  required_providers {
    google = {
      source  = "hashicorp/google"
      version = ">= 6.50, < 9"
    }
  }
}

variable "project" {
  type    = string
  default = "my-project"
}

provider "google" {
  project = var.project
  region  = "europe-west1"
}

# App Engine's own name for europe-west1. An application cannot be moved or removed.
resource "google_app_engine_application" "this" {
  project     = var.project
  location_id = "europe-west"
}

module "injector" {
  source = "../.."

  groups    = { welcome = {} }
  operators = ["user:ann@example.com"]
  platform  = "app-engine"
  project   = var.project
  service   = { url = "https://${google_app_engine_application.this.default_hostname}" }
}

output "accounts" {
  value = module.injector.accounts
}

output "app_yaml" {
  value = module.injector.app_yaml
}

output "cli_environment" {
  value = module.injector.cli_environment
}

output "grant" {
  value = module.injector.grant
}

output "ledger_instance" {
  value = module.injector.ledger_instance
}

output "service_environment" {
  value = module.injector.service_environment
}

output "token_command" {
  value = module.injector.token_command
}
