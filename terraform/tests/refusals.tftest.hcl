# Values that cannot be, each refused before anything is planned.

mock_provider "google" {}

variables {
  groups  = { welcome = { queues = 2 } }
  image   = "europe-west1-docker.pkg.dev/my-project/injector/injector:1.0.0"
  project = "my-project"
}

run "no_group" {
  command = plan

  variables {
    groups = {}
  }

  expect_failures = [var.groups]
}

run "a_group_with_an_underscore" {
  command = plan

  variables {
    groups = { a_b = {} }
  }

  expect_failures = [var.groups]
}

run "a_group_of_64_characters" {
  command = plan

  variables {
    groups = { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" = {} }
  }

  expect_failures = [var.groups]
}

run "a_queue_between_others_that_are_not_there" {
  command = plan

  variables {
    groups = { welcome = { between = ["0002a"], queues = 2 } }
  }

  expect_failures = [var.groups]
}

run "a_queue_between_others_with_a_capital" {
  command = plan

  variables {
    groups = { welcome = { between = ["0000A"], queues = 2 } }
  }

  expect_failures = [var.groups]
}

run "queues_between_others_of_a_topic" {
  command = plan

  variables {
    groups = { users = { between = ["0000a"], topic = true } }
  }

  expect_failures = [var.groups]
}

run "queues_between_others_named_twice" {
  command = plan

  variables {
    groups = { welcome = { between = ["0000a", "0000a"], queues = 2 } }
  }

  expect_failures = [var.groups]
}

run "queues_between_others_from_the_last_to_the_first" {
  command = plan

  variables {
    groups = { welcome = { between = ["[0006-0002]a"], queues = 8 } }
  }

  expect_failures = [var.groups]
}

run "a_queue_between_others_named_by_a_range_too" {
  command = plan

  variables {
    groups = { welcome = { between = ["[0000-0002]a", "0001a"], queues = 8 } }
  }

  expect_failures = [var.groups]
}

run "a_queue_between_others_at_the_start_of_a_range_with_a_step" {
  command = plan

  variables {
    groups = { welcome = { between = ["0000a", "[0000-0006:2]a"], queues = 8 } }
  }

  expect_failures = [var.groups]
}

run "events_with_a_full_name" {
  command = plan

  variables {
    events_topic = "projects/p/topics/t"
  }

  expect_failures = [var.events_topic]
}

run "events_among_a_group_s_messages" {
  command = plan

  variables {
    events_topic = "users-b"
    groups       = { users = { suffix = "b", topic = true } }
  }

  expect_failures = [var.events_topic]
}

run "a_suffix_with_a_slash" {
  command = plan

  variables {
    groups = { welcome = { suffix = "a/b" } }
  }

  expect_failures = [var.groups]
}

run "two_groups_with_the_same_queues" {
  command = plan

  variables {
    groups = { a = { suffix = "b" }, a-b = {} }
  }

  expect_failures = [var.groups]
}

run "no_queues" {
  command = plan

  variables {
    groups = { welcome = { queues = 0 } }
  }

  expect_failures = [var.groups]
}

run "half_an_injector_queue" {
  command = plan

  variables {
    groups = { welcome = { injector_queues = 1.5 } }
  }

  expect_failures = [var.groups]
}

run "a_rate_above_500" {
  command = plan

  variables {
    groups = { welcome = { dispatch = { rate = 500.01 } } }
  }

  expect_failures = [var.groups]
}

run "a_rate_of_0" {
  command = plan

  variables {
    groups = { welcome = { dispatch = { rate = 0 } } }
  }

  expect_failures = [var.groups]
}

run "a_concurrency_above_5000" {
  command = plan

  variables {
    groups = { welcome = { dispatch = { concurrency = 5001 } } }
  }

  expect_failures = [var.groups]
}

run "no_attempts" {
  command = plan

  variables {
    groups = { welcome = { retry = { max_attempts = 0 } } }
  }

  expect_failures = [var.groups]
}

run "a_back_off_that_shrinks" {
  command = plan

  variables {
    groups = { welcome = { retry = { max_backoff_s = 1, min_backoff_s = 2 } } }
  }

  expect_failures = [var.groups]
}

run "a_log_share_above_1" {
  command = plan

  variables {
    groups = { welcome = { log_share = 1.5 } }
  }

  expect_failures = [var.groups]
}

run "a_ramp_above_its_injector_queues" {
  command = plan

  variables {
    groups = { welcome = { ramp = { max_rate = 501 } } }
  }

  expect_failures = [var.groups]
}

run "a_ramp_steeper_than_is_safe" {
  command = plan

  variables {
    groups = { welcome = { ramp = { growth = 2 } } }
  }

  expect_failures = [var.groups]
}

run "a_warm_rate_of_0" {
  command = plan

  variables {
    groups = { welcome = { ramp = { warm_rate = 0 } } }
  }

  expect_failures = [var.groups]
}

run "an_image_without_a_tag" {
  command = plan

  variables {
    image = "europe-west1-docker.pkg.dev/my-project/injector/injector"
  }

  expect_failures = [var.image]
}

run "more_threads_than_connections" {
  command = plan

  variables {
    ledger = { max_connections = 100 }
  }

  expect_failures = [var.ledger]
}

run "a_tier_of_another_edition" {
  command = plan

  variables {
    ledger = { tier = "db-perf-optimized-N-2" }
  }

  expect_failures = [var.ledger]
}

run "a_network_by_its_short_name" {
  command = plan

  variables {
    ledger = { network = "default" }
  }

  expect_failures = [var.ledger]
}

run "an_unknown_availability" {
  command = plan

  variables {
    ledger = { availability_type = "GLOBAL" }
  }

  expect_failures = [var.ledger]
}

run "a_negative_password_version" {
  command = plan

  variables {
    ledger_admin_password_version = -1
  }

  expect_failures = [var.ledger_admin_password_version]
}

run "a_name_in_capitals" {
  command = plan

  variables {
    name = "Injector"
  }

  expect_failures = [var.name]
}

run "an_operator_without_a_kind" {
  command = plan

  variables {
    operators = ["ann@example.com"]
  }

  expect_failures = [var.operators]
}

run "everyone_as_operator" {
  command = plan

  variables {
    operators = ["allUsers"]
  }

  expect_failures = [var.operators]
}

run "an_unknown_platform" {
  command = plan

  variables {
    platform = "kubernetes"
  }

  expect_failures = [var.platform]
}

run "a_project_s_number" {
  command = plan

  variables {
    project = "123456789012"
  }

  expect_failures = [var.project]
}

run "a_zone" {
  command = plan

  variables {
    region = "europe-west1-b"
  }

  expect_failures = [var.region]
}

run "app_engine_s_short_region" {
  command = plan

  variables {
    region = "us-central"
  }

  expect_failures = [var.region]
}

run "three_cpus" {
  command = plan

  variables {
    service = { cpu = 3 }
  }

  expect_failures = [var.service]
}

run "too_little_memory_for_four_cpus" {
  command = plan

  variables {
    service = { cpu = 4 }
  }

  expect_failures = [var.service]
}

run "a_handler_that_outlives_its_worker" {
  command = plan

  variables {
    service = { handler_budget_s = 60 }
  }

  expect_failures = [var.service]
}

run "a_worker_that_outlives_its_request" {
  command = plan

  variables {
    service = { worker_timeout_s = 90 }
  }

  expect_failures = [var.service]
}

run "a_request_that_outlives_its_dispatch" {
  command = plan

  variables {
    service = { request_timeout_s = 120 }
  }

  expect_failures = [var.service]
}

run "a_dispatch_above_30_minutes" {
  command = plan

  variables {
    service = { dispatch_deadline_s = 1801 }
  }

  expect_failures = [var.service]
}

run "a_setting_of_another_program" {
  command = plan

  variables {
    service = { environment = { PATH = "/" } }
  }

  expect_failures = [var.service]
}

run "an_unknown_ingress" {
  command = plan

  variables {
    service = { ingress = "ALL" }
  }

  expect_failures = [var.service]
}

run "no_instances" {
  command = plan

  variables {
    service = { max_instances = 0 }
  }

  expect_failures = [var.service]
}

run "no_threads" {
  command = plan

  variables {
    service = { threads = 0 }
  }

  expect_failures = [var.service]
}

run "a_url_with_a_path" {
  command = plan

  variables {
    service = { url = "https://injector.example.com/x" }
  }

  expect_failures = [var.service]
}

run "chunks_kept_for_a_day" {
  command = plan

  variables {
    store = { keep_days = 1 }
  }

  expect_failures = [var.store]
}

run "a_bucket_in_capitals" {
  command = plan

  variables {
    store = { name = "Chunks" }
  }

  expect_failures = [var.store]
}

run "a_task_account_that_is_no_account" {
  command = plan

  variables {
    task_accounts = ["ann@example.com"]
  }

  expect_failures = [var.task_accounts]
}

run "a_share_above_1" {
  command = plan

  variables {
    alerts = { create_error_share = 5 }
  }

  expect_failures = [var.alerts]
}

run "a_channel_by_its_number" {
  command = plan

  variables {
    alerts = { notification_channels = ["123"] }
  }

  expect_failures = [var.alerts]
}

run "app_engine_without_its_url" {
  command = plan

  variables {
    image    = ""
    platform = "app-engine"
  }

  expect_failures = [var.service]
}

run "a_secret_on_app_engine" {
  command = plan

  variables {
    image                  = ""
    platform               = "app-engine"
    service                = { url = "https://my-project.ew.r.appspot.com" }
    webhook_secret_version = 1
  }

  expect_failures = [var.webhook_secret_version]
}

run "a_topic_of_a_group_with_queues" {
  command = plan

  variables {
    topics = { welcome = {} }
  }

  expect_failures = [var.topics]
}

run "a_schema_in_yaml" {
  command = plan

  variables {
    groups = { events = { topic = true } }
    topics = { events = { schema = { definition = "{}", type = "YAML" } } }
  }

  expect_failures = [var.topics]
}

run "a_subscription_that_gives_up_at_once" {
  command = plan

  variables {
    groups = { events = { topic = true } }
    topics = { events = { subscription = { max_attempts = 1 } } }
  }

  expect_failures = [var.topics]
}
