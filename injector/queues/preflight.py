"""Whether a group's queues are there and can be used, asked before anything is created."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from injector.delivery.ports import Queue, QueueAdmin, Topics
from injector.errors import Misused
from injector.groups import Group

AT_ONCE = 8
_RESUMED = "resume it by `injector group resume`, or by gcloud tasks queues resume"


@dataclass(frozen=True, slots=True)
class Seen:
    """A queue as it is; `problem` is empty when it can be used, and says what would mend it.

    `state` is empty where the queue could not be seen, and the numbers are then None.
    """

    name: str
    state: str = ""
    rate: float | None = None
    concurrency: int | None = None
    problem: str = ""


def look_at_all(group: Group, queues: QueueAdmin, topics: Topics | None = None) -> Sequence[Seen]:
    """Look at every queue of the group, its injector queues first, and at its topic.

    Without `topics` nobody is asked for a topic. Raises Retryable when the service cannot be
    asked at all.
    """
    names = (*group.injector_queues, *group.queues)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        seen = list(pool.map(lambda name: look_at(name, queues), names))
    return [*seen, look_at_topic(group.topic, topics)] if group.topic and topics else seen


def look_at(name: str, queues: QueueAdmin) -> Seen:
    """Look at a queue."""
    try:
        return judged(queues.get_queue(name))
    except Misused as error:
        return Seen(name, problem=str(error))


def look_at_topic(name: str, topics: Topics) -> Seen:
    """Look at a topic; it has no rate of its own."""
    try:
        topics.look(name)
    except Misused as error:
        return Seen(name, problem=str(error))
    return Seen(name, "RUNNING")


def judged(queue: Queue) -> Seen:
    """Say what keeps a queue that is there from working."""
    return Seen(queue.name, queue.state, queue.rate, queue.concurrency, _problem(queue))


def problems(seen: Sequence[Seen]) -> Iterator[str]:
    """Yield what is wrong, one line for each queue."""
    for queue in seen:
        if queue.problem:
            yield queue.problem if queue.name in queue.problem else f"{queue.name}: {queue.problem}"


def checked(group: Group, queues: QueueAdmin) -> Sequence[Seen]:
    """Look at every queue; raise Misused that lists each one that cannot be used."""
    seen = look_at_all(group, queues)
    if found := list(problems(seen)):
        lines = "\n".join(f"  {line}" for line in found)
        raise Misused(f"group {group.name} has queues that cannot be used:\n{lines}")
    return seen


def _problem(queue: Queue) -> str:
    if queue.state == "RUNNING":
        return ""
    remedy = _RESUMED if queue.state == "PAUSED" else "enable it in queue.yaml"
    return f"queue {queue.name} is {queue.state.lower()}; {remedy}"
