"""Which queues a group on the command line has: by configuration, expression, or the service."""

from injector.cli.known_group import unknown_group
from injector.cli.options import service_at
from injector.errors import Misused
from injector.groups import expand
from injector.operations.values import Fields
from injector.settings import Settings


def with_queues(group: str, fields: Fields, settings: Settings, *, url: str = "") -> Fields:
    """Add the group's queues to the fields, unless they are named there.

    GROUP is a configured name, or an expression such as projects/p/locations/l/queues/q-[00-39];
    a name that is not configured here is asked for at the service.
    """
    if "queues" in fields:
        return fields
    return {"queues": list(queues_of(group, settings, url=url)), **fields}


def queues_of(group: str, settings: Settings, *, url: str = "") -> tuple[str, ...]:
    """Name the group's queues, without its injector queues."""
    if "/queues/" in group:
        return expand(group)
    if group in settings.groups:
        return _own(group, settings)
    if not (url or settings.service_url):
        raise unknown_group(group, settings.groups)
    service = service_at(url)
    shown = service.group(group)
    injector_queues = shown["injector_queues"]
    apart = set(injector_queues) if isinstance(injector_queues, list) else set()
    return tuple(
        str(queue["name"]) for queue in service.queues(group) if queue["name"] not in apart
    )


def _own(group: str, settings: Settings) -> tuple[str, ...]:
    found = settings.groups[group]
    if not found.queues:
        raise Misused(f"group {group} is a topic; it has no queues to operate")
    return found.queues
