"""The durable record of jobs, chunks and decisions."""
