"""What an injector task carries: which chunk of which job is to be fanned out."""

from dataclasses import dataclass
from typing import Annotated

import msgspec

from injector.delivery.ports import Create, TaskTemplate
from injector.errors import Rejected
from injector.naming import injector_task_id

VERSION = 1

_Number = Annotated[int, msgspec.Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class InjectorTask:
    """A chunk to fan out; feeding it again takes the next generation.

    `late_at` is the Unix second after which it is to be fed again instead; 0 for never.
    """

    job: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    chunk: _Number
    generation: _Number = 0
    version: int = VERSION
    late_at: float = 0.0


def parse_injector_task(body: bytes) -> InjectorTask:
    """Read a request's body, whatever type it claims to be; raise Rejected when it is no task."""
    try:
        task = msgspec.json.decode(body, type=InjectorTask)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Rejected(f"the body is not an injector task: {error}") from error
    if task.version != VERSION:
        raise Rejected(
            f"the injector task has version {task.version}; this service reads {VERSION}"
        )
    return task


def create_injector_task(
    task: InjectorTask,
    *,
    queues: tuple[str, ...],
    schedule_time: float,
    template: TaskTemplate,
    url: str,
) -> Create:
    """Ask for the task, under a name and in a queue that depend on nothing but the task.

    A further generation goes to the next queue, in case it is the queue that lost the chunk.
    """
    return Create(
        queue=queues[(task.chunk + task.generation) % len(queues)],
        task_id=injector_task_id(task.job, task.chunk, task.generation),
        url=url,
        body=msgspec.json.encode(task),
        schedule_time=schedule_time,
        template=template,
    )
