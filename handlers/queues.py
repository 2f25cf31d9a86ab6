"""The queues of a group, as they are now."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict

from handlers.models import QueueShown
from handlers.parts import Parts
from injector.errors import InjectorError
from injector.groups import Group
from injector.queues.preflight import look_at_all


def queues_of(parts: Parts, group: Group) -> Sequence[QueueShown]:
    """Look at each queue of the group, its injector queues first, and at its topic."""
    waiting = _waiting(parts, group)
    seen = look_at_all(group, parts.queues, parts.topics)
    return [QueueShown(**asdict(each), waiting=waiting.get(each.name)) for each in seen]


def _waiting(parts: Parts, group: Group) -> Mapping[str, int]:
    """Return how many tasks wait in each queue, as far as anybody knows."""
    queues = (*group.injector_queues, *group.queues)
    with suppress(InjectorError):
        if parts.watcher is not None:
            return parts.watcher.depths(queues, now=parts.clock.now())
    return {}
