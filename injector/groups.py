"""Queue groups: the queues that a job's tasks spread over, written as one expression.

`projects/p/locations/l/queues/welcome-[0000-0039]` names forty queues. A comma separates
further expressions, which may leave out the parent: `…/queues/q-[0-199],q-[0-198:2]a` is two
hundred queues and a hundred more that sort between them.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from injector.errors import Misused
from injector.pacing.ramp import QUEUE_MAX_RATE, Ramp
from injector.queue_names import so_many

MAX_QUEUES = 10_000

_QUEUE = re.compile(r"(projects/[^/]*/locations/[^/]*/queues/)?([^/]*)")
_RANGE = re.compile(r"\[(\d+)-(\d+)(?::(\d+))?\]")
_PROJECT = re.compile(r"[a-z0-9][a-z0-9.-]*(?::[a-z0-9][a-z0-9-]*)?")
_LOCATION = re.compile(r"[a-z][a-z0-9-]*")
_ZONE = re.compile(r"([a-z]+-[a-z]+\d+)-[a-z]")
_APP_ENGINE_REGION = re.compile(r"(us-central|europe-west)")
_QUEUE_ID = re.compile(r"[A-Za-z0-9-]{1,100}")


@dataclass(frozen=True, slots=True)
class Retry:
    """How a queue tries again; spans in seconds, `max_retry_duration_s` 0 for any length."""

    max_attempts: int = 100
    max_backoff_s: float = 3600.0
    max_doublings: int = 16
    max_retry_duration_s: float = 0.0
    min_backoff_s: float = 0.1


@dataclass(frozen=True, slots=True)
class Group:
    """A queue group with its injector queues and its ramp.

    Tasks go either to `queues`, full resource names, or to `topic`, a Pub/Sub topic; then
    `queues` is empty. `topic` is None when tasks go to queues. `rate`, `concurrency` and `retry`
    are what each queue is to have; None leaves that to whoever makes the queues.
    """

    name: str
    injector_queues: tuple[str, ...]
    queues: tuple[str, ...]
    topic: str | None = None
    ramp: Ramp = field(default_factory=Ramp)
    rate: float | None = None
    concurrency: int | None = None
    retry: Retry | None = None

    def has(self, queue: str) -> bool:
        """Tell whether the queue is one of the group's."""
        return queue in self.queues


def expand(expression: str) -> tuple[str, ...]:
    """Name every queue of the expression, in its order; raise Misused when one cannot be."""
    names: list[str] = []
    parent = ""
    for part in (part.strip() for part in expression.split(",")):
        found = _QUEUE.fullmatch(part)
        if not found or not (found[1] or parent):
            raise Misused(
                f"{part!r} is not a queue; write projects/PROJECT/locations/LOCATION/queues/QUEUE"
            )
        parent = found[1] or parent
        names.extend(parent + queue_id for queue_id in _ids(found[2], room=MAX_QUEUES - len(names)))
    _check(names)
    return tuple(names)


def location_of(queue: str) -> str:
    """Return the location in a queue's full name."""
    return queue.split("/")[3]


def queue_rate_problem(rate: float) -> str:
    """Say why a queue cannot have this rate in dispatches per second; empty when it can."""
    if not math.isfinite(rate) or rate <= 0:
        return f"{rate:g} is not a rate; give a number above 0, such as 0.1 or 7.5"
    if rate > QUEUE_MAX_RATE:
        return f"{rate:g} is above the {QUEUE_MAX_RATE:g}/s that a queue can dispatch"
    return ""


def ramp_problems(ramp: Ramp, *, injector_queues: int) -> Iterator[tuple[str, str]]:
    """Yield each field of the ramp that cannot be, with the reason."""
    limit = QUEUE_MAX_RATE * injector_queues
    for name in ("initial_rate", "max_rate", "warm_rate"):
        rate = getattr(ramp, name)
        if rate is not None and (problem := _group_rate_problem(rate, limit, injector_queues)):
            yield name, problem
    if not (math.isfinite(ramp.growth) and ramp.growth >= 1):
        yield "growth", f"{ramp.growth:g} is not a growth; give a factor of 1 or more, such as 1.5"
    elif not (math.isfinite(ramp.interval_s) and ramp.interval_s > 0):
        yield "interval", f"{ramp.interval_s:g} s is not an interval; give one such as 5m"
    elif ramp.dangers() and not ramp.unsafe:
        yield "", f"{' and '.join(ramp.dangers())}; lower it, or set unsafe: true to run it"
    if ramp.initial_rate > ramp.max_rate:
        yield (
            "initial_rate",
            f"{ramp.initial_rate:g} is above max_rate, {ramp.max_rate:g}; lower it",
        )


def _group_rate_problem(rate: float, limit: float, injector_queues: int) -> str:
    if problem := queue_rate_problem(min(rate, QUEUE_MAX_RATE) if rate > 0 else rate):
        return problem
    if rate > limit:
        return (
            f"{rate:g}/s is above the {limit:g}/s that {so_many(injector_queues, 'injector')} can "
            f"dispatch; lower it, or add injector queues, one for each {QUEUE_MAX_RATE:g}/s"
        )
    return ""


def _ids(pattern: str, *, room: int) -> list[str]:
    """Expand the ranges of one queue id, the last one fastest."""
    found = _RANGE.search(pattern)
    if not found:
        return [pattern]
    head, tail = pattern[: found.start()], pattern[found.end() :]
    numbers = _numbers(found, room=room)
    tails = _ids(tail, room=room)
    if len(numbers) * len(tails) > room:
        raise _too_many(pattern)
    return [head + number + rest for number in numbers for rest in tails]


def _numbers(found: re.Match[str], *, room: int) -> list[str]:
    first, last, step = found[1], found[2], int(found[3] or 1)
    padded = len(first) > 1 and first.startswith("0")
    if int(first) > int(last) or step < 1 or (padded and len(first) != len(last)):
        raise Misused(f"{found[0]} is not a range; write one such as [0000-0039] or [0-198:2]")
    if (int(last) - int(first)) // step >= room:
        raise _too_many(found[0])
    numbers = range(int(first), int(last) + 1, step)
    return [f"{number:0{len(first)}}" if padded else str(number) for number in numbers]


def _too_many(pattern: str) -> Misused:
    return Misused(f"{pattern} is over {MAX_QUEUES} queues; a region has at most 1000 by default")


def _check(names: list[str]) -> None:
    for name in names:
        if problem := _problem(name):
            raise Misused(problem)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise Misused(f"queue {twice} is named twice; name each queue once")
    locations = sorted({location_of(name) for name in names})
    if len(locations) > 1:
        raise Misused(
            f"the queues are spread over the locations {', '.join(locations)}; "
            "keep a group in one location"
        )


def _problem(name: str) -> str:
    _, project, _, location, _, queue_id = name.split("/")
    if not _PROJECT.fullmatch(project):
        return (
            f"project {project!r} of queue {name} is not a project id; write one such as my-project"
        )
    if problem := _location_problem(location):
        return f"location {location!r} of queue {name} {problem}"
    if not _QUEUE_ID.fullmatch(queue_id):
        return f"queue id {queue_id!r} of {name} must be 1 to 100 letters, digits and hyphens"
    return ""


def _location_problem(location: str) -> str:
    if location == "-":
        return "is a wildcard; name one location such as us-central1"
    if _APP_ENGINE_REGION.fullmatch(location):
        return f"is App Engine's name of the region; Cloud Tasks calls it {location}1"
    if zone := _ZONE.fullmatch(location):
        return f"is a zone; name its region, {zone[1]}"
    tidy = location.strip().lower()
    if not _LOCATION.fullmatch(location):
        better = tidy if _LOCATION.fullmatch(tidy) else "us-central1"
        return f"is not a location; write {better}"
    return ""
