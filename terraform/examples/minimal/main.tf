# The least there is: one group of forty queues, and who may submit jobs to it.

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

variable "project" {
  type    = string
  default = "my-project"
}

provider "google" {
  project = var.project
  region  = "europe-west1"
}

module "injector" {
  source = "../.."

  groups    = { welcome = {} }
  image     = var.image
  ledger    = { max_connections = 100, tier = "db-custom-1-3840" }
  operators = ["user:ann@example.com"]
  project   = var.project
  service   = { max_instances = 5 }
}

output "accounts" {
  value = module.injector.accounts
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

output "upgrade_command" {
  value = module.injector.upgrade_command
}
