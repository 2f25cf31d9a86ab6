locals {
  # The queues of the groups, and the calls of this project that create tasks.
  queue_filter = join(" AND ", [
    "resource.type = \"cloud_tasks_queue\"",
    "resource.labels.location = \"${var.region}\"",
    "resource.labels.queue_id = monitoring.regex.full_match(\"(${join("|", values(local.group_ids))})-(injector-)?[0-9]+[a-z]?\")",
  ])
  create_filter = join(" AND ", [
    "resource.type = \"cloud_tasks_queue\"",
    "resource.labels.location = \"${var.region}\"",
    "metric.type = \"cloudtasks.googleapis.com/api/request_count\"",
    "metric.labels.api_method = monitoring.regex.full_match(\"(Batch)?CreateTasks?\")",
  ])
  create_latency_filter = join(" AND ", [
    "resource.type = \"consumed_api\"",
    "resource.labels.service = \"cloudtasks.googleapis.com\"",
    "resource.labels.method = monitoring.regex.full_match(\".*[.](Batch)?CreateTasks?\")",
    "metric.type = \"serviceruntime.googleapis.com/api/request_latencies\"",
  ])
  of_queues = { for name in ["depth", "task_attempt_count", "task_attempt_delays"] :
    name => "${local.queue_filter} AND metric.type = \"cloudtasks.googleapis.com/queue/${name}\""
  }
  of_service = { for name in ["container/instance_count", "request_count", "request_latencies"] :
    name => "resource.type = \"cloud_run_revision\" AND resource.labels.service_name = \"${var.name}\" AND metric.type = \"run.googleapis.com/${name}\""
  }
  of_ledger = { for name in ["cpu/utilization", "postgresql/num_backends"] :
    name => "resource.type = \"cloudsql_database\" AND resource.labels.database_id = \"${var.project}:${google_sql_database_instance.ledger.name}\" AND metric.type = \"cloudsql.googleapis.com/database/${name}\""
  }
  publish_filter = "resource.type = \"pubsub_topic\" AND resource.labels.topic_id = monitoring.regex.full_match(\"${join("|", values(local.topics))}\") AND metric.type = \"pubsub.googleapis.com/topic/send_request_latencies\""

  # A refusal such as ALREADY_EXISTS is an answer; only these tell of overload. Cloud Tasks
  # writes the codes in capitals in some metrics and in small letters in others.
  overload_codes = ["ABORTED", "DEADLINE_EXCEEDED", "INTERNAL", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "UNKNOWN"]
  overload = format("one_of(%s)", join(", ", [
    for code in concat(local.overload_codes, [for code in local.overload_codes : lower(code)]) : jsonencode(code)
  ]))

  alerts = {
    attempt_delays = {
      title     = "tasks wait longer than ${var.alerts.attempt_delay_s} s for their attempt"
      filter    = local.of_queues["task_attempt_delays"]
      of        = ""
      aligner   = "ALIGN_PERCENTILE_95"
      reducer   = "REDUCE_MAX"
      threshold = var.alerts.attempt_delay_s * 1000
      remedy    = "The queues dispatch less than they are given. Attempts with errors: the target is overloaded. Without: a queue is cold, or its concurrency divided by the target's latency is below its rate."
    }
    attempt_errors = {
      title     = "targets fail in more than ${var.alerts.attempt_error_share * 100} % of attempts"
      filter    = "${local.of_queues["task_attempt_count"]} AND metric.labels.response_code = ${local.overload}"
      of        = local.of_queues["task_attempt_count"]
      aligner   = "ALIGN_RATE"
      reducer   = "REDUCE_SUM"
      threshold = var.alerts.attempt_error_share
      remedy    = "Give the target more capacity before the queues more rate. The controller holds or halves the ramp by itself."
    }
    backlog = {
      title     = "more than ${var.alerts.backlog} tasks wait"
      filter    = local.of_queues["depth"]
      of        = ""
      aligner   = "ALIGN_MEAN"
      reducer   = "REDUCE_SUM"
      threshold = var.alerts.backlog
      remedy    = "Tasks are created faster than they are dispatched. Pause the job, or add queues to the group."
    }
    create_errors = {
      title     = "more than ${var.alerts.create_error_share * 100} % of creates fail"
      filter    = "${local.create_filter} AND metric.labels.response_code = ${local.overload}"
      of        = local.create_filter
      aligner   = "ALIGN_RATE"
      reducer   = "REDUCE_SUM"
      threshold = var.alerts.create_error_share
      remedy    = "The queues are overloaded. The controller halves the ramp by itself; look for others who create tasks in this project."
    }
    create_latency = {
      title     = "creates take longer than ${var.alerts.create_latency_s} s"
      filter    = local.create_latency_filter
      of        = ""
      aligner   = "ALIGN_PERCENTILE_95"
      reducer   = "REDUCE_MAX"
      threshold = var.alerts.create_latency_s
      remedy    = "Rising latency is the first sign of overloaded queues. The controller holds the ramp by itself."
    }
  }

  charts = concat(
    [
      { title = "Creates, by answer (1/s)", filter = local.create_filter, aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", by = ["metric.label.response_code"] },
      { title = "Latency of creates, p95 (s)", filter = local.create_latency_filter, aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", by = ["resource.label.method"] },
      { title = "Attempts, by answer (1/s)", filter = local.of_queues["task_attempt_count"], aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", by = ["metric.label.response_code"] },
      { title = "Tasks that wait", filter = local.of_queues["depth"], aligner = "ALIGN_MEAN", reducer = "REDUCE_SUM", by = [] },
      { title = "Delay of attempts, p95 (ms)", filter = local.of_queues["task_attempt_delays"], aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", by = [] },
      { title = "The ledger's connections", filter = local.of_ledger["postgresql/num_backends"], aligner = "ALIGN_MEAN", reducer = "REDUCE_SUM", by = [] },
      { title = "The ledger's CPU (share)", filter = local.of_ledger["cpu/utilization"], aligner = "ALIGN_MEAN", reducer = "REDUCE_MAX", by = [] },
    ],
    local.on_cloud_run ? [
      { title = "The service's requests, by answer (1/s)", filter = local.of_service["request_count"], aligner = "ALIGN_RATE", reducer = "REDUCE_SUM", by = ["metric.label.response_code"] },
      { title = "The service's latency, p95 (ms)", filter = local.of_service["request_latencies"], aligner = "ALIGN_PERCENTILE_95", reducer = "REDUCE_MAX", by = [] },
      { title = "The service's instances", filter = local.of_service["container/instance_count"], aligner = "ALIGN_MAX", reducer = "REDUCE_SUM", by = [] },
    ] : [],
    length(local.topics) > 0 ? [
      { title = "Latency of publishing, p99 (µs)", filter = local.publish_filter, aligner = "ALIGN_PERCENTILE_99", reducer = "REDUCE_MAX", by = ["resource.label.topic_id"] },
    ] : [],
  )
}

# The controller looks at what the queues say of their attempts. Metrics have no finer grant.
resource "google_project_iam_member" "watches" {
  project = var.project
  role    = "roles/monitoring.viewer"
  member  = local.account["service"].member
}

resource "google_monitoring_alert_policy" "signal" {
  for_each              = local.alerts
  project               = var.project
  display_name          = "${var.name}: ${each.value.title}"
  combiner              = "OR"
  notification_channels = var.alerts.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = each.value.title

    condition_threshold {
      comparison         = "COMPARISON_GT"
      denominator_filter = each.value.of == "" ? null : each.value.of
      duration           = "300s"
      filter             = each.value.filter
      threshold_value    = each.value.threshold

      aggregations {
        alignment_period     = "60s"
        cross_series_reducer = each.value.reducer
        per_series_aligner   = each.value.aligner
      }

      dynamic "denominator_aggregations" {
        for_each = each.value.of == "" ? {} : { of = each.value }
        content {
          alignment_period     = "60s"
          cross_series_reducer = denominator_aggregations.value.reducer
          per_series_aligner   = denominator_aggregations.value.aligner
        }
      }
    }
  }

  documentation {
    content   = each.value.remedy
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.this]
}

resource "google_monitoring_alert_policy" "fault" {
  project               = var.project
  display_name          = "${var.name}: the service reports a fault"
  combiner              = "OR"
  notification_channels = var.alerts.notification_channels
  user_labels           = var.labels

  conditions {
    display_name = "an event of severity ERROR"

    condition_matched_log {
      filter = join(" AND ", [
        local.on_cloud_run ? "resource.type = \"cloud_run_revision\" AND resource.labels.service_name = \"${var.name}\"" : "resource.type = \"gae_app\"",
        "jsonPayload.logger = \"injector\"",
        "severity >= ERROR",
      ])
      label_extractors = { event = "EXTRACT(jsonPayload.event)" }
    }
  }

  alert_strategy {
    auto_close = "3600s"

    notification_rate_limit {
      period = "900s"
    }
  }

  documentation {
    content   = "A tick that could not do its work, or a request that nobody expected. The log entry says which group, and why."
    mime_type = "text/markdown"
  }

  depends_on = [google_project_service.this]
}

resource "google_monitoring_dashboard" "this" {
  project = var.project
  dashboard_json = jsonencode({
    displayName = var.name
    mosaicLayout = {
      columns = 48
      tiles = [
        for place, chart in local.charts : {
          height = 16
          width  = 24
          xPos   = place % 2 * 24
          yPos   = floor(place / 2) * 16
          widget = {
            title = chart.title
            xyChart = {
              dataSets = [{
                plotType = "LINE"
                timeSeriesQuery = {
                  timeSeriesFilter = {
                    filter = chart.filter
                    aggregation = {
                      alignmentPeriod    = "60s"
                      crossSeriesReducer = chart.reducer
                      groupByFields      = chart.by
                      perSeriesAligner   = chart.aligner
                    }
                  }
                }
              }]
            }
          }
        }
      ]
    }
  })

  depends_on = [google_project_service.this]
}
