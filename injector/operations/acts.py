"""Acts on queues that several kinds of operation have in common."""

from injector.operations.values import Act

SET_RATE, PAUSE, RESUME = "set_rate", "pause_queue", "resume_queue"
ACTS_PER_S = 10.0
"""How often acts are carried out: administering queues has a small quota."""


def set_rate(queue: str, rate: float, *, found: float) -> Act:
    """Set a queue's dispatch rate, and nothing else of it; `found` is what it was then."""
    return Act(SET_RATE, queue, {"rate": rate, "found": found})


def pause(queue: str) -> Act:
    """Pause a queue."""
    return Act(PAUSE, queue)


def resume(queue: str) -> Act:
    """Resume a queue."""
    return Act(RESUME, queue)
