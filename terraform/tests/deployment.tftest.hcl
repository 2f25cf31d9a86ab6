# What the module decides, with a provider that makes up the rest.

mock_provider "google" {
  mock_data "google_project" {
    defaults = { number = "123456789012" }
  }
  mock_resource "google_cloud_run_v2_service" {
    defaults = { uri = "https://made-up.example" }
  }
}

variables {
  groups  = { welcome = { queues = 2 } }
  image   = "europe-west1-docker.pkg.dev/my-project/injector/injector:1.0.0"
  project = "my-project"
}

run "a_group_has_its_queues" {
  command = plan

  assert {
    condition     = keys(google_cloud_tasks_queue.target) == ["welcome-0000", "welcome-0001"]
    error_message = "There are ${join(", ", keys(google_cloud_tasks_queue.target))}."
  }

  assert {
    condition     = keys(google_cloud_tasks_queue.injector) == ["welcome-injector-0"]
    error_message = "There are ${join(", ", keys(google_cloud_tasks_queue.injector))}."
  }

  assert {
    condition     = google_cloud_tasks_queue.injector["welcome-injector-0"].rate_limits[0].max_dispatches_per_second == 5
    error_message = "A ramp begins at 5 injector tasks a second."
  }
}

run "several_injector_queues_share_the_first_rate" {
  command = plan

  variables {
    groups = { welcome = { injector_queues = 4, queues = 2 } }
  }

  assert {
    condition     = alltrue([for queue in google_cloud_tasks_queue.injector : queue.rate_limits[0].max_dispatches_per_second == 1.25])
    error_message = "Four queues begin at 1.25 a second each."
  }
}

run "a_suffix_changes_every_name" {
  command = plan

  variables {
    groups = { welcome = { queues = 2, suffix = "b" } }
    ledger = { suffix = "b" }
  }

  assert {
    condition     = alltrue([for name in concat(keys(google_cloud_tasks_queue.target), keys(google_cloud_tasks_queue.injector)) : startswith(name, "welcome-b-")])
    error_message = "A queue has kept its old name."
  }

  assert {
    condition     = google_sql_database_instance.ledger.name == "injector-ledger-b"
    error_message = "The instance is called ${google_sql_database_instance.ledger.name}."
  }
}

run "a_topic_takes_the_place_of_queues" {
  command = plan

  variables {
    groups = { events = { topic = true } }
  }

  assert {
    condition     = length(google_cloud_tasks_queue.target) == 0 && google_pubsub_topic.this["events"].name == "events"
    error_message = "Tasks of the group are to go to its topic."
  }

  assert {
    condition     = google_pubsub_topic_iam_member.publishes["events"].role == "roles/pubsub.publisher"
    error_message = "The service may not publish."
  }
}

run "the_service_calls_itself_at_its_own_url" {
  command = apply

  variables {
    ledger_admin_password = "unused"
    webhook_secret        = "unused"
  }

  assert {
    condition     = output.service_url == "https://injector-123456789012.europe-west1.run.app"
    error_message = "The service takes ${output.service_url} for its own."
  }

  assert {
    condition     = google_cloud_scheduler_job.tick["tick"].http_target[0].uri == "${output.service_url}/control/tick"
    error_message = "The scheduler calls ${google_cloud_scheduler_job.tick["tick"].http_target[0].uri}."
  }
}

run "app_engine_brings_its_own_service_and_schedule" {
  command = plan

  variables {
    image    = ""
    platform = "app-engine"
    service  = { url = "https://my-project.ew.r.appspot.com" }
  }

  assert {
    condition     = length(google_cloud_run_v2_service.this) + length(google_cloud_scheduler_job.tick) + length(google_cloud_run_v2_job.upgrade) == 0
    error_message = "There is a Cloud Run service besides App Engine's."
  }
}

run "one_attempt_is_warned_of" {
  command = plan

  variables {
    groups = { welcome = { queues = 2, retry = { max_attempts = 1 } } }
  }

  expect_failures = [check.every_task_can_be_tried_again]
}

run "a_group_that_cannot_keep_up_is_warned_of" {
  command = plan

  variables {
    groups = { welcome = { dispatch = { rate = 1 }, queues = 2 } }
  }

  expect_failures = [check.queues_can_take_what_is_created]
}
