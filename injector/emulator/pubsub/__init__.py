"""Pub/Sub beside Cloud Tasks, on the same port: publishers, and enough of subscribers."""
