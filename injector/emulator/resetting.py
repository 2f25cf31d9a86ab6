"""Back to the beginning, for the next test."""

from injector.emulator.parts import Parts


def reset(parts: Parts, *, keep_queues: bool) -> None:
    """Forget tasks, reserved names, operations, policies, keys, faults and records.

    Queues are deleted as well, without reserving their names, or emptied if they are kept, and
    so are topics and subscriptions.
    Attempts in flight end without effect.
    """
    service, registry = parts.service, parts.service.registry
    now = service.now()
    for queue in list(registry.queues.values()):
        registry.close(queue, now=now)
        if keep_queues:
            registry.open(queue.name, queue.limits, now=now)
        else:
            del service.configs[queue.name]
    registry.release_names()
    for name in list(service.policies):
        service.set_policy(name, None)
    for location in service.keys:
        service.set_key(location, "")
    service.operations.clear()
    parts.plan.set([])
    parts.history.clear()
    parts.metrics.clear()
    parts.log.entries.clear()
    if parts.pubsub:
        parts.pubsub.reset(keep=keep_queues)
