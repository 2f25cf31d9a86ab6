"""The group of a plan: from the configuration here, from the service, or the usual curve."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches

from injector.cli.client import Service
from injector.errors import Misused, Retryable
from injector.groups import Group
from injector.manifest.rendering import ANY_QUEUE
from injector.pacing.ramp import Ramp


def known_or_usual(
    name: str, configured: Group | None, service: Service | None
) -> tuple[Group, tuple[str, ...]]:
    """Return the group, and a note when it had to be guessed.

    `configured` is what the configuration here says, `service` who else may know; None for
    either means that it is not there. Raises NotFound for a group that the service lacks.
    """
    if configured:
        return configured, ()
    why = "no groups are configured here"
    if service:
        try:
            return group_of(service.group(name)), ()
        except Retryable as error:
            why = str(error)
    note = f"group {name!r} is taken for a cold one on 500/50/5: {why}"
    return Group(name, (), ()), (note,)


def unknown_group(name: str, configured: Collection[str]) -> Misused:
    """Say that the group is not configured, and which one may be meant."""
    near = get_close_matches(name, configured, n=1)
    known = ", ".join(sorted(configured)) or "none; name a file by --groups"
    remedy = f"did you mean {near[0]!r}?" if near else f"configured: {known}"
    return Misused(f"group {name!r} is not configured; {remedy}")


def group_of(shown: Mapping[str, object]) -> Group:
    """Return a group as the service shows it, with stand-ins for its queues' names."""
    queues, injector_queues, topic = shown["queues"], shown["injector_queues"], shown["topic"]
    return Group(
        str(shown["name"]),
        tuple(map(str, injector_queues)) if isinstance(injector_queues, list) else (),
        tuple(f"{ANY_QUEUE}-{n}" for n in range(queues)) if isinstance(queues, int) else (),
        topic if isinstance(topic, str) else None,
        _ramp(shown["ramp"]),
    )


def _ramp(shown: object) -> Ramp:
    if not isinstance(shown, Mapping):
        return Ramp()
    return Ramp(**{key: shown[key] for key in Ramp.__dataclass_fields__ if key in shown})
