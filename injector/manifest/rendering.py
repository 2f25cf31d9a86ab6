"""What a job's records become, whatever its group's destination is."""

from collections.abc import Callable, Sequence
from typing import Protocol

from injector.delivery.ports import Create
from injector.errors import Misused
from injector.groups import Group
from injector.layout import Layout
from injector.manifest.message import compile_message
from injector.manifest.record import Record
from injector.manifest.request import compile_request
from injector.manifest.schema import Manifest
from injector.pacing.ramp import Ramp

ANY_QUEUE = "projects/PROJECT/locations/LOCATION/queues/QUEUE"
ANY_TOPIC = "projects/PROJECT/topics/TOPIC"


class Renderer(Protocol):
    """Turns records into what is created for them: tasks, or messages."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Name what a record may need to have."""

    def create(self, record: Record, *, now: float) -> Create:
        """Return the record's create; raise Rejected with the reason when there can be none."""

    def create_all(self, records: Sequence[Record], *, now: float) -> list[Create]:
        """Return what `create` does of each, at less cost; raise Rejected when one has none."""

    def check(self, record: Record, *, now: float) -> None:
        """Raise Rejected exactly when `create` would."""

    def name(self, record: Record) -> tuple[str, str]:
        """Return the destination and the id of what the record becomes."""

    def size_of(self, create: Create) -> int:
        """Return how many bytes it has, as its service counts them."""


def compile_job(
    manifest: Manifest,
    group: Group | None = None,
    *,
    named_after: str = "",
    layout_of: Callable[[int], Layout] | None = None,
) -> Renderer:
    """Compile the manifest for the group; without one, for a destination that fits.

    `named_after` is the job whose id names what is created, empty for the manifest's own.
    `layout_of` gives a chunk's queues; None means the group's, each with its even share. Raises
    Misused when the group's destination is another than the manifest is made for.
    """
    if group:
        check_destination(manifest, group)
    if manifest.message:
        topic = (group.topic if group else None) or ANY_TOPIC
        job = named_after or manifest.job
        return compile_message(manifest.message, manifest.identity, topic, job=job)
    queues = (group.queues if group else ()) or (ANY_QUEUE,)
    return compile_request(
        manifest,
        queues,
        ramp=group.ramp if group else Ramp(),
        named_after=named_after,
        layout_of=layout_of,
    )


def check_destination(manifest: Manifest, group: Group) -> None:
    """Refuse a manifest whose records would become tasks in a topic, or messages in a queue."""
    if group.topic and not manifest.message:
        raise Misused(
            f"group {group.name} is a topic, and the manifest has a task; write message: in place "
            "of task:, or name a group of queues"
        )
    if group.queues and not manifest.task:
        raise Misused(
            f"group {group.name} is one of queues, and the manifest has a message; write task: in "
            "place of message:, or name a group that is a topic"
        )
