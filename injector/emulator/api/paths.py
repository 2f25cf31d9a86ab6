"""The shapes of resource names."""

import re
from typing import NamedTuple

from injector.emulator.api import refusals

_LOCATION = r"projects/([A-Za-z0-9:.-]+)/locations/([A-Za-z][A-Za-z0-9-]*)"
_QUEUE = rf"({_LOCATION})/queues/([A-Za-z0-9-]{{1,100}})"
_location = re.compile(_LOCATION).fullmatch
_queue = re.compile(_QUEUE).fullmatch
_any_task = re.compile(rf"({_QUEUE})/tasks/(.*)", re.DOTALL).fullmatch
is_task_id = re.compile(r"[A-Za-z0-9_-]{1,500}").fullmatch


class Location(NamedTuple):
    """The parts of a location's name."""

    project: str
    location: str


def location(name: str) -> Location:
    """Return the parts of a location's name; raises RpcError if it has another shape."""
    match = _location(name)
    if match is None:
        raise refusals.bad_parent(name)
    return Location(match[1], match[2])


def location_of_queue(name: str) -> str:
    """Return the name of a queue's location; raises RpcError if the name has another shape."""
    match = _queue(name)
    if match is None:
        raise refusals.bad_queue_name()
    return match[1]


def split_task(name: str) -> tuple[str, str]:
    """Return the queue's name and the task's id; raises RpcError if the shape is wrong."""
    match = _any_task(name)
    if match is None:
        raise refusals.bad_task_name()
    task_id = match[6]
    if not is_task_id(task_id):
        raise refusals.bad_task_id(task_id)
    return match[1], task_id
