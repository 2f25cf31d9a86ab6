"""The queues of a group, as they are now."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict

from handlers.models import LackShown, QueueShown, RightsShown
from handlers.parts import Parts
from injector.errors import InjectorError
from injector.groups import Group
from injector.queues.preflight import look_at_all
from injector.queues.rights import Lack, lacks_of
from injector.staging.rights import READS, lacking

READER = "roles/storage.objectViewer"


def queues_of(parts: Parts, group: Group) -> Sequence[QueueShown]:
    """Look at each queue of the group, its injector queues first, and at its topic."""
    waiting = _waiting(parts, group)
    seen = look_at_all(group, parts.queues, parts.topics)
    return [QueueShown(**asdict(each), waiting=waiting.get(each.name)) for each in seen]


def rights_of(parts: Parts, group: Group) -> RightsShown:
    """Ask what this process lacks on each queue of the group, and on the bucket with the chunks."""
    lacks = lacks_of(group, parts.queues)
    store = parts.settings.store_url
    on_store = [Lack(store, each, READER) for each in lacking(store, READS)]
    shown = [LackShown.model_validate(lack, from_attributes=True) for lack in (*lacks, *on_store)]
    return RightsShown(lacks=shown)


def _waiting(parts: Parts, group: Group) -> Mapping[str, int]:
    """Return how many tasks wait in each queue, as far as anybody knows."""
    queues = (*group.injector_queues, *group.queues)
    with suppress(InjectorError):
        if parts.watcher is not None:
            return parts.watcher.depths(queues, now=parts.clock.now())
    return {}
