"""What there is to see of queues: the rows of the status page."""

from dataclasses import dataclass

from injector.emulator.parts import Parts
from injector.emulator.state.queue import Queue


@dataclass(frozen=True, slots=True)
class QueueRow:
    """A queue at a glance: rates are per second, `enforced_rate` is what the service allows now."""

    name: str
    state: str
    depth: int
    in_flight: int
    rate: float
    enforced_rate: float
    max_concurrent: int
    next_at: float | None
    attempts_last_minute: dict[str, int]


def queue_rows(parts: Parts) -> list[QueueRow]:
    """Return a row for each queue, by name."""
    queues = parts.service.registry.queues
    return [_row(parts, queues[name]) for name in sorted(queues)]


def _row(parts: Parts, queue: Queue) -> QueueRow:
    rate = queue.limits.rate.max_dispatches_per_second
    first = queue.first_due()
    return QueueRow(
        name=queue.name,
        state=queue.state.name,
        depth=queue.depth,
        in_flight=queue.in_flight,
        rate=rate,
        enforced_rate=queue.pace.rate(rate),
        max_concurrent=queue.limits.rate.max_concurrent_dispatches,
        next_at=None if first is None else first.due,
        attempts_last_minute=_attempts(parts, queue),
    )


def _attempts(parts: Parts, queue: Queue) -> dict[str, int]:
    now = parts.clock.now()
    counts: dict[str, int] = {}
    for labels in parts.metrics.attempts.labels():
        if labels[0] == queue.name:
            points = parts.metrics.attempts.between(labels, now - 60, now)
            counts[labels[1]] = sum(point.number for point in points)
    return counts
