"""What the caller may not do with a group's queues, and the roles that would let it."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from injector.delivery.ports import QueueAdmin
from injector.groups import Group

AT_ONCE = 8
_ENQUEUER = "roles/cloudtasks.enqueuer"
_VIEWER = "roles/cloudtasks.viewer"
FED: Mapping[str, str] = {
    "cloudtasks.tasks.create": _ENQUEUER,
    "cloudtasks.queues.get": _VIEWER,
    "cloudtasks.queues.update": "roles/cloudtasks.queueAdmin",
}
"""What the controller needs on an injector queue, and the least role that has it."""

FILLED: Mapping[str, str] = {
    "cloudtasks.tasks.create": _ENQUEUER,
    "cloudtasks.queues.get": _VIEWER,
    "cloudtasks.tasks.delete": "roles/cloudtasks.taskDeleter",
}
"""What a fan-out, and taking its tasks back, need on a queue of the group."""


@dataclass(frozen=True, slots=True)
class Lack:
    """A permission that the caller lacks on a resource, and the role that has it."""

    resource: str
    permission: str
    role: str


def lacks_of(group: Group, queues: QueueAdmin) -> Sequence[Lack]:
    """Ask for each queue of the group, its injector queues first.

    On a queue that is not there everything is lacking. Raises Retryable when nobody can be asked.
    """
    needs = [(name, FED) for name in group.injector_queues]
    needs += [(name, FILLED) for name in group.queues]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(lambda need: list(_lacks(need[0], need[1], queues)), needs)
        return [lack for each in found for lack in each]


def _lacks(queue: str, needs: Mapping[str, str], queues: QueueAdmin) -> Iterator[Lack]:
    granted = set(queues.granted(queue, list(needs)))
    for permission, role in needs.items():
        if permission not in granted:
            yield Lack(queue, permission, role)
