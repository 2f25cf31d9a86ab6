locals {
  group_ids = { for name, group in var.groups : name => join("-", compact([name, group.suffix])) }
  parent    = "projects/${var.project}/locations/${var.region}/queues"

  # The names of an emergency expansion, such as 0000a, which sort between the numbered ones.
  between = {
    for name, group in var.groups : name => flatten([
      for part in [for text in group.between : regex(local.between_form, text)] : [
        for number in range(tonumber(part.first), tonumber(coalesce(part.last, part.first)) + 1, tonumber(coalesce(part.step, "1"))) :
        format("%04d%s", number, part.letter)
      ]
    ])
  }
  between_form = "^\\[?(?P<first>[0-9]{4})(?:-(?P<last>[0-9]{4})(?::(?P<step>[1-9][0-9]{0,2}))?\\])?(?P<letter>[a-z])$"

  injector_queues = merge([
    for name, group in var.groups : {
      for number in range(group.injector_queues) : "${local.group_ids[name]}-injector-${number}" => group
    }
  ]...)
  target_queues = merge([
    for name, group in var.groups : {
      for end in concat([for number in range(group.queues) : format("%04d", number)], local.between[name]) :
      "${local.group_ids[name]}-${end}" => group
    } if !group.topic
  ]...)

  # What the service and the command line take as INJECTOR_GROUPS.
  groups = jsonencode({
    groups = {
      for name, group in var.groups : name => merge(
        {
          injector_queues = "${local.parent}/${local.group_ids[name]}-injector-[0-${group.injector_queues - 1}]"
          ramp = merge(
            {
              growth       = group.ramp.growth
              initial_rate = group.ramp.initial_rate
              interval     = group.ramp.interval_s
              unsafe       = group.ramp.unsafe
            },
            group.ramp.max_rate == null ? {} : { max_rate = group.ramp.max_rate },
            group.ramp.warm_rate == null ? {} : { warm_rate = group.ramp.warm_rate },
          )
        },
        group.topic ? { topic = google_pubsub_topic.this[name].id } : {
          queues = join(",", concat(
            [format("%s/%s-[0000-%04d]", local.parent, local.group_ids[name], group.queues - 1)],
            [for text in group.between : "${local.group_ids[name]}-${text}"],
          ))
        },
      )
    }
  })
}

resource "google_cloud_tasks_queue" "injector" {
  for_each = local.injector_queues
  project  = var.project
  location = var.region
  name     = each.key

  rate_limits {
    max_concurrent_dispatches = 10
    max_dispatches_per_second = each.value.ramp.initial_rate / each.value.injector_queues
  }

  retry_config {
    max_attempts  = 100
    max_backoff   = "60s"
    max_doublings = 6
    min_backoff   = "1s"
  }

  stackdriver_logging_config {
    sampling_ratio = each.value.log_share
  }

  lifecycle {
    # The controller ramps these two, and only these.
    ignore_changes = [
      rate_limits[0].max_concurrent_dispatches,
      rate_limits[0].max_dispatches_per_second,
    ]
  }

  depends_on = [google_project_service.this]
}

resource "google_cloud_tasks_queue_iam_member" "feeds" {
  for_each = google_cloud_tasks_queue.injector
  project  = var.project
  location = each.value.location
  name     = each.value.name
  role     = "roles/cloudtasks.enqueuer"
  member   = local.account["service"].member
}

resource "google_cloud_tasks_queue_iam_member" "ramps" {
  for_each = google_cloud_tasks_queue.injector
  project  = var.project
  location = each.value.location
  name     = each.value.name
  role     = "roles/cloudtasks.queueAdmin"
  member   = local.account["service"].member
}

resource "google_cloud_tasks_queue" "target" {
  for_each = local.target_queues
  project  = var.project
  location = var.region
  name     = each.key

  rate_limits {
    max_concurrent_dispatches = each.value.dispatch.concurrency
    max_dispatches_per_second = each.value.dispatch.rate
  }

  retry_config {
    max_attempts       = each.value.retry.max_attempts
    max_backoff        = "${each.value.retry.max_backoff_s}s"
    max_doublings      = each.value.retry.max_doublings
    max_retry_duration = each.value.retry.max_retry_duration_s == null ? null : "${each.value.retry.max_retry_duration_s}s"
    min_backoff        = "${each.value.retry.min_backoff_s}s"
  }

  stackdriver_logging_config {
    sampling_ratio = each.value.log_share
  }

  depends_on = [google_project_service.this]
}

# The service creates tasks, looks whether their queues are there, and takes back what a
# cancelled job has created.
resource "google_cloud_tasks_queue_iam_member" "fans_out" {
  for_each = {
    for grant in setproduct(keys(local.target_queues), ["enqueuer", "taskDeleter", "viewer"]) :
    join(" ", grant) => { queue = grant[0], role = grant[1] }
  }
  project  = var.project
  location = var.region
  name     = google_cloud_tasks_queue.target[each.value.queue].name
  role     = "roles/cloudtasks.${each.value.role}"
  member   = local.account["service"].member
}

# Operations on a group (resume, ramp, spread) set its own queues.
resource "google_cloud_tasks_queue_iam_member" "steers" {
  for_each = { for name, group in local.target_queues : name => group if group.operated }
  project  = var.project
  location = var.region
  name     = google_cloud_tasks_queue.target[each.key].name
  role     = "roles/cloudtasks.queueAdmin"
  member   = local.account["service"].member
}

check "every_task_can_be_tried_again" {
  assert {
    condition     = alltrue([for group in var.groups : group.retry.max_attempts != 1])
    error_message = "A group has max_attempts = 1: its tasks are lost when their target is starting or overloaded."
  }
}

check "queues_can_take_what_is_created" {
  assert {
    condition = alltrue([
      for group in var.groups : group.topic || group.queues * group.dispatch.rate >= 100 * group.ramp.initial_rate
    ])
    error_message = "A group's queues dispatch less than is created from the beginning (100 tasks for each injector task), so a backlog grows."
  }
}
