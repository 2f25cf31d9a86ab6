# Who may do what, what is asked of the service, and where: what a change must not loosen.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
}

variables {
  events_topic = "jobs"
  groups = {
    events  = { topic = true }
    steered = { operated = true, queues = 1 }
    welcome = { queues = 2 }
  }
  image                 = "europe-west1-docker.pkg.dev/my-project/injector/injector:1.0.0"
  ledger_admin_password = "unused"
  project               = "my-project"
  webhook_secret        = "unused"
}

run "a_deployment_grants_and_asks_no_more_than_it_must" {
  command = apply

  assert {
    condition = toset([for grant in google_cloud_tasks_queue_iam_member.ramps : "${grant.name} ${grant.role} ${grant.member}"]) == toset([
      for name in ["events-injector-0", "steered-injector-0", "welcome-injector-0"] : "${name} roles/cloudtasks.queueAdmin ${google_service_account.this["service"].member}"
    ])
    error_message = "The service is to administer the injector queues, and no others, and to be no more than their administrator."
  }

  assert {
    condition = { for name, grant in google_cloud_tasks_queue_iam_member.steers : name => "${grant.name} ${grant.role} ${grant.member}" } == {
      steered-0000 = "steered-0000 roles/cloudtasks.queueAdmin ${google_service_account.this["service"].member}"
    }
    error_message = "The service is to administer the queues of operated groups, and of no other."
  }

  assert {
    condition = toset([for grant in google_cloud_tasks_queue_iam_member.fans_out : "${grant.name} ${grant.role}"]) == toset([
      for pair in setproduct(["steered-0000", "welcome-0000", "welcome-0001"], ["enqueuer", "taskDeleter", "viewer"]) : "${pair[0]} roles/cloudtasks.${pair[1]}"
    ])
    error_message = "The service is to create, see and take back tasks in the groups' queues, and no more."
  }

  assert {
    condition = { for role, grant in google_cloud_run_v2_service_iam_member.invokes : role => "${grant.role} ${grant.member}" } == {
      for role in ["caller", "operator", "scheduler"] : role => "roles/run.invoker ${google_service_account.this[role].member}"
    }
    error_message = "Queues, scheduler and operator are to call the service, and nobody else."
  }

  assert {
    condition     = google_storage_bucket_iam_member.reads.role == "roles/storage.objectViewer"
    error_message = "The service is to read chunks, and to change none."
  }

  assert {
    condition     = toset([for grant in google_project_iam_member.ledger : grant.role]) == toset(["roles/cloudsql.client", "roles/cloudsql.instanceUser"])
    error_message = "The service is to connect to the ledger and to log in, and no more."
  }

  assert {
    condition     = "${google_project_iam_member.watches.role} ${google_project_iam_member.watches.member}" == "roles/monitoring.viewer ${google_service_account.this["service"].member}"
    error_message = "The service is to read how its queues stand, and no more."
  }

  assert {
    condition = { for name, grant in google_pubsub_topic_iam_member.publishes : name => "${grant.topic} ${grant.role} ${grant.member}" } == {
      events = "events roles/pubsub.publisher ${google_service_account.this["service"].member}"
    }
    error_message = "The service is to publish to its groups' topics, and no more."
  }

  assert {
    condition = [for grant in google_pubsub_topic_iam_member.tells : "${grant.topic} ${grant.role} ${grant.member}"] == [
      "jobs roles/pubsub.publisher ${google_service_account.this["service"].member}"
    ]
    error_message = "The service is to tell the topic of jobs, and no other."
  }

  assert {
    condition     = output.service_environment["INJECTOR_EVENTS_TOPIC"] == google_pubsub_topic.events["jobs"].id
    error_message = "The service does not tell the topic of jobs."
  }

  assert {
    condition = toset([
      for container in google_cloud_run_v2_service.this["service"].template[0].containers : [
        container.startup_probe[0].http_get[0].path, container.liveness_probe[0].http_get[0].path,
      ]
    ]) == toset([["/healthz", "/healthz"]])
    error_message = "A probe asks for what needs a caller, or the ledger's tables, which the first deployment has yet to make."
  }

  assert {
    condition = alltrue([
      for probe in google_cloud_run_v2_service.this["service"].template[0].containers[0].startup_probe : 30 <= probe.failure_threshold * probe.period_seconds && probe.timeout_seconds <= probe.period_seconds
    ])
    error_message = "The service needs half a minute to start on a busy machine."
  }

  assert {
    condition     = output.service_environment["INJECTOR_MONITORING"] == "on"
    error_message = "The service does not look how its queues stand."
  }

  assert {
    condition     = google_storage_bucket.chunks.storage_class == "STANDARD"
    error_message = "Chunks are read within days, for which the other classes charge more."
  }
}
