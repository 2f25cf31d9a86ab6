"""The state in a file, so that a restart keeps it."""
