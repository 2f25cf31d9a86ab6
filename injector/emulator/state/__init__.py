"""The service's rules: queues, tasks, rates and retries, without clock, chance or I/O."""
