variable "alerts" {
  description = <<-EOT
    When to alert, and whom: names of notification channels. Shares are of all creates or attempts,
    over five minutes.
  EOT
  type = object({
    attempt_delay_s       = optional(number, 600)
    attempt_error_share   = optional(number, 0.05)
    backlog               = optional(number, 1000000)
    create_error_share    = optional(number, 0.05)
    create_latency_s      = optional(number, 1)
    notification_channels = optional(set(string), [])
  })
  default = {}

  validation {
    condition = alltrue([
      for share in [var.alerts.attempt_error_share, var.alerts.create_error_share] : share > 0 && share < 1
    ])
    error_message = "A share is above 0 and below 1, such as create_error_share = 0.05."
  }

  validation {
    condition = alltrue([
      for channel in var.alerts.notification_channels :
      can(regex("^projects/[^/]+/notificationChannels/[^/]+$", channel))
    ])
    error_message = "A channel is named in full, such as projects/my-project/notificationChannels/123."
  }
}

variable "events_topic" {
  description = <<-EOT
    The name of a topic that the module makes, and that the service tells of all jobs and groups;
    empty for none.
  EOT
  type        = string
  default     = ""

  validation {
    condition     = var.events_topic == "" || can(regex("^[A-Za-z][A-Za-z0-9_.~+%-]{2,254}$", var.events_topic)) && !startswith(lower(var.events_topic), "goog")
    error_message = "A topic's name is 3 to 255 letters, digits and -_.~+%, from a letter on and not goog, such as job-events."
  }

  validation {
    condition = !contains(flatten([
      for name, group in var.groups : [for end in ["", "dead"] : join("-", compact([name, group.suffix, end]))] if group.topic
    ]), var.events_topic)
    error_message = "A group publishes to this topic; tell another of the jobs, such as job-events."
  }
}

variable "groups" {
  description = <<-EOT
    Queue groups by name. Each has injector queues, from which the service fans out, and either
    target queues or a Pub/Sub topic. The rate of the injector queues belongs to the controller,
    which ramps it as `ramp` says; `dispatch` and `retry` are of the target queues. A queue's name
    cannot be used again for days after its deletion: give the group another `suffix` then. Of an
    `operated` group the service may also set, pause and resume the target queues. The queues of
    an emergency expansion, whose names sort `between` the numbered ones, are named as the command
    line prints them, such as between = ["[0000-0198:2]a"].
  EOT
  type = map(object({
    between = optional(list(string), [])
    dispatch = optional(object({
      concurrency = optional(number, 1000)
      rate        = optional(number, 500)
    }), {})
    injector_queues = optional(number, 1)
    log_share       = optional(number, 0)
    operated        = optional(bool, false)
    queues          = optional(number, 40)
    ramp = optional(object({
      growth       = optional(number, 1.5)
      initial_rate = optional(number, 5)
      interval_s   = optional(number, 300)
      max_rate     = optional(number)
      unsafe       = optional(bool, false)
      warm_rate    = optional(number)
    }), {})
    retry = optional(object({
      max_attempts         = optional(number, 100)
      max_backoff_s        = optional(number, 3600)
      max_doublings        = optional(number, 16)
      max_retry_duration_s = optional(number)
      min_backoff_s        = optional(number, 0.1)
    }), {})
    suffix = optional(string, "")
    topic  = optional(bool, false)
  }))

  validation {
    condition     = length(var.groups) > 0
    error_message = "The service needs at least one group, such as groups = { welcome = {} }."
  }

  validation {
    condition     = alltrue([for name in keys(var.groups) : can(regex("^[A-Za-z0-9][A-Za-z0-9-]{0,62}$", name))])
    error_message = "A group's name is 1 to 63 letters, digits and hyphens (no underscore), such as welcome or bulk-mail."
  }

  validation {
    condition     = alltrue([for group in var.groups : can(regex("^[A-Za-z0-9-]{0,20}$", group.suffix))])
    error_message = "A suffix is at most 20 letters, digits and hyphens, such as b or 2026-11."
  }

  validation {
    condition = alltrue([
      for group in var.groups :
      1 <= group.injector_queues && group.injector_queues <= 100 && floor(group.injector_queues) == group.injector_queues &&
      1 <= group.queues && group.queues <= 1000 && floor(group.queues) == group.queues
    ])
    error_message = "A group has 1 to 100 injector queues and 1 to 1000 queues, such as injector_queues = 1 and queues = 40."
  }

  validation {
    condition = alltrue(flatten([
      for group in var.groups : [
        for text in group.between :
        can(regex("^([0-9]{4}|\\[[0-9]{4}-[0-9]{4}(:[1-9][0-9]{0,2})?\\])[a-z]$", text)) &&
        try(alltrue([for number in regexall("[0-9]{4}", text) : tonumber(number) < group.queues]), false) &&
        !group.topic
      ]
    ]))
    error_message = "Queues between others have the number of one of them and a letter, such as between = [\"0000a\", \"[0002-0198:2]a\"]; a topic has none."
  }

  validation {
    condition = alltrue(flatten([
      for group in var.groups : [
        for text in group.between :
        try(tonumber(regexall("[0-9]{4}", text)[0]) <= tonumber(reverse(regexall("[0-9]{4}", text))[0]), true)
      ]
    ]))
    error_message = "Queues between others go from the first to the last, such as between = [\"[0002-0006:2]a\"]."
  }

  validation {
    condition = alltrue([
      for names in [
        for group in var.groups : try(flatten([
          for part in [for text in group.between : regex("^\\[?(?P<first>[0-9]{4})(?:-(?P<last>[0-9]{4})(?::(?P<step>[1-9][0-9]{0,2}))?\\])?(?P<letter>[a-z])$", text)] : [
            for number in range(tonumber(part.first), tonumber(coalesce(part.last, part.first)) + 1, tonumber(coalesce(part.step, "1"))) :
            "${number}${part.letter}"
          ]
        ]), [])
      ] : length(names) == length(distinct(names))
    ])
    error_message = "Each queue between others is named once, also by ranges, such as between = [\"[0000-0198:2]a\", \"[0001-0199:2]a\"]."
  }

  validation {
    condition = length(var.groups) == length(distinct([
      for name, group in var.groups : lower(join("-", compact([name, group.suffix])))
    ]))
    error_message = "Two groups would have the same queues; give one another suffix, such as b."
  }

  validation {
    condition     = alltrue([for group in var.groups : group.dispatch.rate > 0 && group.dispatch.rate <= 500])
    error_message = "A queue dispatches above 0 and at most 500 tasks a second, such as dispatch = { rate = 7.5 }."
  }

  validation {
    condition = alltrue([
      for group in var.groups : 1 <= group.dispatch.concurrency && group.dispatch.concurrency <= 5000 && floor(group.dispatch.concurrency) == group.dispatch.concurrency
    ])
    error_message = "A queue has 1 to 5000 dispatches at once, such as dispatch = { concurrency = 1000 }."
  }

  validation {
    condition = alltrue([
      for group in var.groups : (
        group.retry.max_attempts == -1 || group.retry.max_attempts >= 1
      ) && floor(group.retry.max_attempts) == group.retry.max_attempts
    ])
    error_message = "A task has 1 attempt or more, or any number of them, such as retry = { max_attempts = 100 } or -1."
  }

  validation {
    condition = alltrue([
      for group in var.groups : 0 < group.retry.min_backoff_s && group.retry.min_backoff_s <= group.retry.max_backoff_s
    ])
    error_message = "The back-off grows from above 0, such as retry = { min_backoff_s = 0.1, max_backoff_s = 3600 }."
  }

  validation {
    condition     = alltrue([for group in var.groups : group.log_share >= 0 && group.log_share <= 1])
    error_message = "The share of attempts that are logged is from 0 to 1, such as log_share = 0.01."
  }

  validation {
    condition = alltrue([
      for group in var.groups : group.ramp.growth >= 1 && group.ramp.interval_s > 0 && alltrue([
        for rate in compact([group.ramp.initial_rate, group.ramp.max_rate, group.ramp.warm_rate]) :
        tonumber(rate) > 0 && tonumber(rate) <= 500 * group.injector_queues
      ])
    ])
    error_message = "A ramp grows, within 500/s for each injector queue, such as ramp = { initial_rate = 5, growth = 1.5, interval_s = 300 }."
  }

  validation {
    condition = alltrue([
      for group in var.groups : group.ramp.unsafe || (
        group.ramp.initial_rate <= 5 && group.ramp.growth <= 1.5 && group.ramp.interval_s >= 300
      )
    ])
    error_message = "A ramp steeper than 500/50/5 overloads cold queues; use one such as ramp = { initial_rate = 5, growth = 1.5, interval_s = 300 }, or unsafe = true."
  }
}

variable "image" {
  description = "The service's container image. Not used on App Engine."
  type        = string
  default     = ""

  validation {
    condition     = var.platform == "app-engine" || can(regex("^[a-z0-9.-]+/[^:@\\s]+(:[\\w.-]+|@sha256:[0-9a-f]{64})$", var.image))
    error_message = "An image has a tag or a digest, such as europe-west1-docker.pkg.dev/my-project/injector/injector:0.1.0."
  }
}

variable "labels" {
  description = "Labels of everything that can carry them."
  type        = map(string)
  default     = {}
}

variable "ledger" {
  description = <<-EOT
    The PostgreSQL instance. With a `network` it has a private address only. A deleted instance's
    name cannot be used again for a week: give it another `suffix` then.
  EOT
  type = object({
    availability_type   = optional(string, "ZONAL")
    backups_kept        = optional(number, 7)
    deletion_protection = optional(bool, true)
    max_connections     = optional(number, 400)
    network             = optional(string)
    subnetwork          = optional(string)
    suffix              = optional(string, "")
    tier                = optional(string, "db-custom-2-7680")
  })
  default = {}

  validation {
    condition     = contains(["REGIONAL", "ZONAL"], var.ledger.availability_type)
    error_message = "The availability is ZONAL, or REGIONAL at twice the price."
  }

  validation {
    condition     = var.ledger.network == null || can(regex("^projects/[^/]+/global/networks/[^/]+$", var.ledger.network))
    error_message = "A network is named in full, such as projects/my-project/global/networks/default."
  }

  validation {
    condition     = can(regex("^db-(custom-[0-9]+-[0-9]+|f1-micro|g1-small)$", var.ledger.tier))
    error_message = "A tier is one of the Enterprise edition, such as db-custom-2-7680 (2 CPUs, 7680 MB)."
  }

  validation {
    condition = var.ledger.max_connections >= (
      var.service.max_instances * var.service.workers * var.service.threads + 20
    )
    error_message = "Each thread of each instance may hold a connection, and 20 are for others: raise ledger.max_connections, or lower service.max_instances, such as max_instances = 20 with workers = 2, threads = 8 and max_connections = 400."
  }
}

variable "ledger_admin_password" {
  description = <<-EOT
    The password of the database user `admin`, who grants the service its rights once. It is sent
    to Cloud SQL and kept nowhere else; without one there is no such user.
  EOT
  type        = string
  default     = null
  sensitive   = true
  ephemeral   = true
}

variable "ledger_admin_password_version" {
  description = "Raise it to send another `ledger_admin_password`; 0 for no user `admin`."
  type        = number
  default     = 0

  validation {
    condition     = var.ledger_admin_password_version >= 0
    error_message = "A version counts up from 1, such as ledger_admin_password_version = 1."
  }
}

variable "name" {
  description = "What the names of service, accounts, bucket and database begin with."
  type        = string
  default     = "injector"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{0,19}[a-z0-9]$", var.name))
    error_message = "A name is 2 to 21 lower-case letters, digits and hyphens, such as injector."
  }
}

variable "operators" {
  description = "Who may use the command line and the API: they act as the operator's account."
  type        = set(string)
  default     = []

  validation {
    condition = alltrue([
      for member in var.operators : can(regex("^(user|group|serviceAccount|principal|principalSet):[^\\s]+$", member))
    ])
    error_message = "An operator is a principal, such as user:ann@example.com or group:mail-team@example.com."
  }
}

variable "platform" {
  description = "Where the service runs: cloud-run, or app-engine, to which gcloud deploys app.yaml and cron.yaml."
  type        = string
  default     = "cloud-run"

  validation {
    condition     = contains(["app-engine", "cloud-run"], var.platform)
    error_message = "The platform is cloud-run or app-engine."
  }
}

variable "project" {
  description = "The project's id."
  type        = string

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{4,28}[a-z0-9]$", var.project))
    error_message = "A project has an id (not a number), such as my-project."
  }
}

variable "region" {
  description = "The region of everything."
  type        = string
  default     = "europe-west1"

  validation {
    condition     = can(regex("^[a-z]+-[a-z]+[0-9]+$", var.region))
    error_message = "A region is one such as europe-west1 (not a zone, and not App Engine's short name)."
  }
}

variable "service" {
  description = <<-EOT
    The service. The four limits are nested, so that the innermost can still answer. An instance
    takes workers times threads requests at once. `environment` has further settings, INJECTOR_ and OTEL_.
    `url` is for a domain of one's own, or for App Engine's.
  EOT
  type = object({
    cpu                 = optional(number, 2)
    dispatch_deadline_s = optional(number, 120)
    environment         = optional(map(string), {})
    handler_budget_s    = optional(number, 45)
    ingress             = optional(string, "INGRESS_TRAFFIC_ALL")
    max_instances       = optional(number, 20)
    memory              = optional(string, "1Gi")
    min_instances       = optional(number, 0)
    request_timeout_s   = optional(number, 90)
    threads             = optional(number, 8)
    url                 = optional(string)
    worker_timeout_s    = optional(number, 60)
    workers             = optional(number, 2)
  })
  default = {}

  validation {
    condition     = contains([1, 2, 4, 6, 8], var.service.cpu)
    error_message = "The service has 1, 2, 4, 6 or 8 CPUs, such as cpu = 2."
  }

  validation {
    condition = can(regex("^[0-9]+[MG]i$", var.service.memory)) && alltrue([
      for mebibytes in regexall("[0-9]+", var.service.memory) :
      tonumber(mebibytes) * (endswith(var.service.memory, "Gi") ? 1024 : 1) >= lookup({ 4 = 2048, 6 = 4096, 8 = 4096 }, var.service.cpu, 512)
    ])
    error_message = "The service has at least 512Mi, with 4 CPUs at least 2Gi and with more 4Gi, such as memory = \"1Gi\"."
  }

  validation {
    condition = (
      0 < var.service.handler_budget_s &&
      var.service.handler_budget_s < var.service.worker_timeout_s &&
      var.service.worker_timeout_s < var.service.request_timeout_s &&
      var.service.request_timeout_s < var.service.dispatch_deadline_s &&
      15 <= var.service.dispatch_deadline_s && var.service.dispatch_deadline_s <= 1800
    )
    error_message = "Each limit ends before the one around it, such as handler_budget_s = 45, worker_timeout_s = 60, request_timeout_s = 90, dispatch_deadline_s = 120."
  }

  validation {
    condition     = alltrue([for key in keys(var.service.environment) : can(regex("^(INJECTOR|OTEL)_[A-Z_]+$", key))])
    error_message = "A setting begins with INJECTOR_ or OTEL_, such as INJECTOR_HEDGE_DELAY_S = \"0.5\"."
  }

  validation {
    condition = contains([
      "INGRESS_TRAFFIC_ALL", "INGRESS_TRAFFIC_INTERNAL_LOAD_BALANCER", "INGRESS_TRAFFIC_INTERNAL_ONLY",
    ], var.service.ingress)
    error_message = "The ingress is INGRESS_TRAFFIC_ALL, or one of the internal ones, with which laptops get in no more."
  }

  validation {
    condition     = 0 <= var.service.min_instances && var.service.min_instances <= var.service.max_instances && 1 <= var.service.max_instances
    error_message = "There are at least min_instances and at most max_instances, such as min_instances = 0 and max_instances = 20."
  }

  validation {
    condition = (
      1 <= var.service.workers && var.service.workers <= 64 && floor(var.service.workers) == var.service.workers &&
      1 <= var.service.threads && var.service.threads <= 256 && floor(var.service.threads) == var.service.threads &&
      var.service.workers * var.service.threads <= 1000
    )
    error_message = "An instance has 1 to 64 workers of 1 to 256 threads, and at most 1000 threads in all, such as workers = 2 and threads = 8."
  }

  validation {
    condition     = var.service.url == null ? var.platform == "cloud-run" : can(regex("^https://[a-z0-9.-]+$", var.service.url))
    error_message = "The URL is one without path, such as https://injector.example.com; App Engine needs it, such as https://my-project.ew.r.appspot.com."
  }
}

variable "store" {
  description = "The bucket of chunks, by default PROJECT-NAME-chunks. Chunks are needed until their job has ended."
  type = object({
    force_destroy = optional(bool, false)
    keep_days     = optional(number, 30)
    name          = optional(string)
  })
  default = {}

  validation {
    condition     = var.store.keep_days >= 7 && floor(var.store.keep_days) == var.store.keep_days
    error_message = "Chunks are kept for whole days, at least 7, such as keep_days = 30."
  }

  validation {
    condition     = var.store.name == null || can(regex("^[a-z0-9][a-z0-9_-]{1,61}[a-z0-9]$", var.store.name))
    error_message = "A bucket's name is 3 to 63 lower-case letters, digits, hyphens and underscores, such as my-project-chunks."
  }
}

variable "task_accounts" {
  description = "The service accounts whose OIDC or OAuth token a manifest's tasks carry."
  type        = set(string)
  default     = []

  validation {
    condition     = alltrue([for email in var.task_accounts : can(regex("^[^@\\s]+@[^@\\s]+\\.gserviceaccount\\.com$", email))])
    error_message = "An account is named by its e-mail address, such as worker@my-project.iam.gserviceaccount.com."
  }
}

variable "topics" {
  description = <<-EOT
    What topics of groups have besides their name, by group: a `schema` that messages must follow,
    and a `subscription` under the topic's name. With `max_attempts` what is not acknowledged in
    so many deliveries goes to the topic NAME-dead, and waits in its subscription for 31 days.
  EOT
  type = map(object({
    schema = optional(object({
      definition = string
      encoding   = optional(string, "JSON")
      type       = optional(string, "AVRO")
    }))
    subscription = optional(object({
      ack_deadline_s = optional(number, 60)
      max_attempts   = optional(number)
    }))
  }))
  default = {}

  validation {
    condition     = alltrue([for name in keys(var.topics) : try(var.groups[name].topic, false)])
    error_message = "Only a group that publishes has a topic, such as groups = { events = { topic = true } }."
  }

  validation {
    condition = alltrue([
      for topic in values(var.topics) : topic.schema == null ? true : (
        contains(["AVRO", "PROTOCOL_BUFFER"], topic.schema.type) && contains(["BINARY", "JSON"], topic.schema.encoding)
      )
    ])
    error_message = "A schema is of type AVRO or PROTOCOL_BUFFER, encoded as JSON or BINARY, such as schema = { definition = file(\"event.avsc\"), type = \"AVRO\" }."
  }

  validation {
    condition = alltrue([
      for topic in values(var.topics) : topic.subscription == null ? true : (
        topic.subscription.ack_deadline_s >= 10 && topic.subscription.ack_deadline_s <= 600 &&
        coalesce(topic.subscription.max_attempts, 5) >= 5 && coalesce(topic.subscription.max_attempts, 5) <= 100
      )
    ])
    error_message = "A subscription waits 10 to 600 s and gives up after 5 to 100 deliveries, such as subscription = { ack_deadline_s = 60, max_attempts = 10 }."
  }
}

variable "webhook_secret" {
  description = <<-EOT
    What notices of ended jobs are signed with. It is sent to Secret Manager and kept nowhere
    else; without one they are not signed.
  EOT
  type        = string
  default     = null
  sensitive   = true
  ephemeral   = true
}

variable "webhook_secret_version" {
  description = "Raise it to send another `webhook_secret`; 0 for none."
  type        = number
  default     = 0

  validation {
    condition     = var.webhook_secret_version == 0 || (var.webhook_secret_version > 0 && var.platform == "cloud-run")
    error_message = "A version counts up from 1, on Cloud Run (App Engine hands no secrets to its services), such as webhook_secret_version = 1."
  }
}
