"""A queue's settings as the service has them, read and written field by field."""

from collections.abc import Sequence
from dataclasses import fields

from google.cloud.tasks_v2 import types

from injector.delivery.ports import Queue
from injector.groups import Retry

SPANS = {
    "max_backoff_s": "max_backoff",
    "max_retry_duration_s": "max_retry_duration",
    "min_backoff_s": "min_backoff",
}
RATES = {"rate": "max_dispatches_per_second", "concurrency": "max_concurrent_dispatches"}
FIELDS = (*RATES, *(each.name for each in fields(Retry)))


def read_queue(queue: types.Queue) -> Queue:
    """Read a queue of the service."""
    retry = queue.retry_config
    return Queue(
        name=queue.name,
        state=types.Queue.State(queue.state).name,
        rate=queue.rate_limits.max_dispatches_per_second,
        concurrency=queue.rate_limits.max_concurrent_dispatches,
        burst=queue.rate_limits.max_burst_size,
        retry=Retry(
            retry.max_attempts,
            retry.max_backoff.ToNanoseconds() / 1e9,
            retry.max_doublings,
            retry.max_retry_duration.ToNanoseconds() / 1e9,
            retry.min_backoff.ToNanoseconds() / 1e9,
        ),
    )


def write_queue(form: types.Queue, queue: Queue, only: Sequence[str]) -> list[str]:
    """Write these fields of the queue, and return their paths for an update mask."""
    form.name = queue.name
    paths = []
    for name in only:
        if name in RATES:
            setattr(form.rate_limits, RATES[name], getattr(queue, name))
            paths.append(f"rate_limits.{RATES[name]}")
        else:
            paths.append(f"retry_config.{_write_retry(form, queue, name)}")
    return paths


def _write_retry(form: types.Queue, queue: Queue, name: str) -> str:
    value = getattr(queue.retry, name)
    if name in SPANS:
        getattr(form.retry_config, SPANS[name]).FromNanoseconds(round(value * 1e9))
        return SPANS[name]
    setattr(form.retry_config, name, value)
    return name
