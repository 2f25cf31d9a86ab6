"""What the acts on queues do."""

from collections.abc import Mapping

from injector.operations.acts import PAUSE, RESUME, SET_RATE
from injector.operations.kind import Do, Ports
from injector.operations.values import Act


def set_rate(act: Act, ports: Ports) -> str:
    """Set a queue's dispatch rate."""
    rate = float(str(act.values["rate"]))
    ports.queues.update_rate(act.what, rate=rate)
    return f"{act.what} dispatches up to {rate:g}/s"


def pause(act: Act, ports: Ports) -> str:
    """Pause a queue."""
    ports.queues.pause_queue(act.what)
    return f"{act.what} is paused"


def resume(act: Act, ports: Ports) -> str:
    """Resume a queue."""
    ports.queues.resume_queue(act.what)
    return f"{act.what} is resumed"


QUEUE_VERBS: Mapping[str, Do] = {SET_RATE: set_rate, PAUSE: pause, RESUME: resume}
"""What each verb does."""
