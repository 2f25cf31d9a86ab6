locals {
  store_url = "gs://${google_storage_bucket.chunks.name}/chunks"
}

resource "google_storage_bucket" "chunks" {
  project                     = var.project
  name                        = coalesce(var.store.name, "${var.project}-${var.name}-chunks")
  location                    = var.region
  force_destroy               = var.store.force_destroy
  labels                      = var.labels
  storage_class               = "STANDARD"
  public_access_prevention    = "enforced"
  uniform_bucket_level_access = true

  lifecycle_rule {
    action {
      type = "Delete"
    }
    condition {
      age = var.store.keep_days
    }
  }

  # What an upload left that was cut off.
  lifecycle_rule {
    action {
      type = "AbortIncompleteMultipartUpload"
    }
    condition {
      age = 1
    }
  }

  # Chunks can be staged again; there is no need to pay for deleted ones.
  soft_delete_policy {
    retention_duration_seconds = 0
  }

  depends_on = [google_project_service.this]
}

resource "google_storage_bucket_iam_member" "reads" {
  bucket = google_storage_bucket.chunks.name
  role   = "roles/storage.objectViewer"
  member = local.account["service"].member
}

resource "google_storage_bucket_iam_member" "stages" {
  bucket = google_storage_bucket.chunks.name
  role   = "roles/storage.objectUser"
  member = local.account["operator"].member
}
