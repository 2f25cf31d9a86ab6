"""The queues of a plan: asked for at the service, or at the emulator, before anything is sent."""

from collections.abc import Sequence

from injector.cli.checks import seen_by
from injector.cli.client import Json, Service
from injector.delivery.ports import Topics
from injector.errors import NotFound, Retryable
from injector.groups import Group
from injector.queues.access import admin_at, topics_at
from injector.queues.preflight import look_at_topic


def queue_problems(  # noqa: PLR0913  (all that may be asked)
    group: Group,
    *,
    known_here: bool,
    service: Service | None,
    emulator_host: str,
    pubsub_host: str,
    told: str | None = None,
) -> tuple[str, ...]:
    """Return what is wrong with each queue of the group; nothing where nobody can be asked.

    The service is asked, if there is one; else an emulator, if the group is `known_here`, and
    for the topic that is to be `told` of the job's end too.
    """
    try:
        if service:
            return _problems(service.queues(group.name))
        if emulator_host and known_here:
            with admin_at(emulator_host) as admin, topics_at(pubsub_host) as topics:
                return (*_problems(seen_by(admin, group, topics)), *_untold(told, topics))
    except NotFound:
        return ()  # the service does not have the group, or is older: others say so
    except Retryable as error:
        return (f"the queues could not be looked at: {error}",)
    return ()


def _untold(topic: str | None, topics: Topics) -> tuple[str, ...]:
    problem = look_at_topic(topic, topics).problem if topic else ""
    return (f"notify.topic: {problem}",) if problem else ()


def _problems(queues: Sequence[Json]) -> tuple[str, ...]:
    return tuple(str(queue["problem"]) for queue in queues if queue["problem"])
