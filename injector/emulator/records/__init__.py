"""What happened: attempts, finished tasks, counts."""
