"""What speaks against a plan as things are: asked of the service, or of the emulator."""

from dataclasses import replace

from injector.cli.client import Service
from injector.errors import NotFound, Retryable
from injector.groups import Group


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
            queues = service.queues(group.name)
            return tuple(str(queue["problem"]) for queue in queues if queue["problem"])
        if emulator_host and known_here:
            from injector.cli.seen import problems_seen  # noqa: PLC0415  (Google's client is slow)

            return problems_seen(
                group, emulator_host=emulator_host, pubsub_host=pubsub_host, told=told
            )
    except NotFound:
        return ()  # the service does not have the group, or is older: others say so
    except Retryable as error:
        return (f"the queues could not be looked at: {error}",)
    return ()


def id_problems(job: str, service: Service | None) -> tuple[str, ...]:
    """Say that the job's id is used already; nothing where nobody can be asked.

    The service is asked once: if it does not answer, whoever asked for the queues has waited, and
    says so.
    """
    if service is None:
        return ()
    try:
        found = replace(service, attempts=1).job(job)
    except (NotFound, Retryable):
        return ()
    said = (
        f"job {job!r} is there already ({found['state']}): submit changes nothing if all is the "
        "same, and is refused if not; give a new job an id of its own, or remove that one: "
        f"injector rm {job}"
    )
    return (said,)
