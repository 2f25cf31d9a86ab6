"""The queues and the topic of a group as this machine's own credentials see them."""

from dataclasses import asdict

from injector.cli.client import Json
from injector.delivery.ports import QueueAdmin, Topics
from injector.groups import Group
from injector.queues.access import admin_at, topics_at
from injector.queues.preflight import look_at_all, look_at_topic


def problems_seen(
    group: Group, *, emulator_host: str, pubsub_host: str, told: str | None
) -> tuple[str, ...]:
    """Return what is wrong with each queue, and with the topic that is to be `told` of the end."""
    with admin_at(emulator_host) as admin, topics_at(pubsub_host) as topics:
        queues = seen_by(admin, group, topics)
        problems = [str(queue["problem"]) for queue in queues if queue["problem"]]
        untold = look_at_topic(told, topics).problem if told else ""
    return (*problems, *([f"notify.topic: {untold}"] if untold else []))


def seen_by(admin: QueueAdmin, group: Group, topics: Topics) -> list[Json]:
    """Return a group's queues and topic as the service shows them."""
    return [asdict(queue) for queue in look_at_all(group, admin, topics)]
