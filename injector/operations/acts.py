"""Acts on queues that several kinds of operation have in common."""

from injector.operations.values import Act

SET_RATE, PAUSE, RESUME = "set_rate", "pause_queue", "resume_queue"


def set_rate(queue: str, rate: float) -> Act:
    """Set a queue's dispatch rate, and nothing else of it."""
    return Act(SET_RATE, queue, {"rate": rate})


def pause(queue: str) -> Act:
    """Pause a queue."""
    return Act(PAUSE, queue)


def resume(queue: str) -> Act:
    """Resume a queue."""
    return Act(RESUME, queue)
