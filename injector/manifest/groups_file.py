"""The groups of a service, from its configuration."""

from collections.abc import Callable, Iterator
from typing import Annotated

from pydantic import ValidationError

from injector.errors import Misused
from injector.groups import Group, Retry, expand, location_of, queue_rate_problem, ramp_problems
from injector.manifest.complaint import problems_of
from injector.manifest.document import Document, read_document
from injector.manifest.fields import Count, Flag, Number, Seconds, Text, matching
from injector.manifest.problem import Problem, complaint
from injector.manifest.schema import Strict, TopicName
from injector.pacing.plan import QUEUE_MAX_CONCURRENCY
from injector.pacing.ramp import QUEUE_MAX_RATE, Ramp

GroupName = Annotated[
    Text, matching(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", "use 1 to 63 letters, digits, - and _")
]


class RampEntry(Strict):
    """The `ramp` of a group."""

    initial_rate: Number = 5.0
    growth: Number = 1.5
    interval: Seconds = 300.0
    max_rate: Number | None = None
    warm_rate: Number | None = None
    unsafe: Flag = False


class DispatchEntry(Strict):
    """The `dispatch` of a group: what each of its queues is to have."""

    rate: Number = QUEUE_MAX_RATE
    concurrency: Count = 1000


class RetryEntry(Strict):
    """The `retry` of a group: how its queues try tasks again; -1 attempts are any number."""

    max_attempts: Count = 100
    max_backoff: Seconds = 3600.0
    max_doublings: Count = 16
    max_retry_duration: Seconds = 0.0
    min_backoff: Seconds = 0.1


class GroupEntry(Strict):
    """One group."""

    injector_queues: Text
    queues: Text | None = None
    topic: TopicName | None = None
    ramp: RampEntry = RampEntry()
    dispatch: DispatchEntry | None = None
    retry: RetryEntry | None = None


class GroupsFile(Strict):
    """The configuration's `groups`."""

    groups: dict[GroupName, GroupEntry]


Note = Callable[[tuple[str, ...], str], None]


def load_groups(text: str, *, source: str) -> dict[str, Group]:
    """Read the groups from YAML or JSON text; raise Misused with every problem of it."""
    document = read_document(text, source=source)
    problems = list(document.problems)

    def note(path: tuple[str, ...], message: str) -> None:
        problems.append(Problem(document.place_of(path), message))

    groups = {name: _group(name, entry, note) for name, entry in _entries(document, problems)}
    _check_shared(groups, note)
    if problems:
        raise complaint(source, problems)
    return groups


def _entries(document: Document, problems: list[Problem]) -> list[tuple[str, GroupEntry]]:
    try:
        return list(GroupsFile.model_validate(document.value).groups.items())
    except ValidationError as error:
        problems += problems_of(error, GroupsFile, document)
        return []


def _group(name: str, entry: GroupEntry, note: Note) -> Group:
    path = ("groups", name)
    injector_queues = _queues(entry.injector_queues, (*path, "injector_queues"), note)
    queues = _queues(entry.queues, (*path, "queues"), note) if entry.queues else ()
    if bool(entry.queues) == bool(entry.topic):
        note(path, f"group {name} needs either queues or a topic; give one of the two")
    locations = sorted({location_of(queue) for queue in (*injector_queues, *queues)})
    if len(locations) > 1:
        note(path, f"group {name} is spread over {', '.join(locations)}; keep it in one location")
    ramp = _ramp(entry.ramp, len(injector_queues) or 1)
    for key, problem in ramp_problems(ramp, injector_queues=len(injector_queues) or 1):
        note(
            (*path, "ramp", key) if key else (*path, "ramp"),
            f"ramp.{key}: {problem}".replace(".:", ":"),
        )
    for key, problem in _shape_problems(entry):
        note((*path, *key.split(".")), f"{key}: {problem}")
    dispatch = entry.dispatch
    return Group(
        name,
        injector_queues,
        queues,
        entry.topic,
        ramp,
        dispatch.rate if dispatch else None,
        dispatch.concurrency if dispatch else None,
        _retry(entry.retry) if entry.retry else None,
    )


def _shape_problems(entry: GroupEntry) -> Iterator[tuple[str, str]]:
    """Yield what a queue cannot be set to."""
    if entry.dispatch:
        if problem := queue_rate_problem(entry.dispatch.rate):
            yield "dispatch.rate", problem
        if not 1 <= entry.dispatch.concurrency <= QUEUE_MAX_CONCURRENCY:
            most = f"a queue has 1 to {QUEUE_MAX_CONCURRENCY} dispatches at once"
            yield "dispatch.concurrency", f"{entry.dispatch.concurrency} cannot be; {most}"
    if retry := entry.retry:
        if retry.max_attempts < 1 and retry.max_attempts != -1:
            yield "retry.max_attempts", f"{retry.max_attempts} cannot be; give 1 or more, or -1"
        if not 0 < retry.min_backoff <= retry.max_backoff:
            yield "retry.min_backoff", "the back-off grows from above 0 up to max_backoff"


def _retry(entry: RetryEntry) -> Retry:
    return Retry(
        entry.max_attempts,
        entry.max_backoff,
        entry.max_doublings,
        entry.max_retry_duration,
        entry.min_backoff,
    )


def _queues(expression: str, path: tuple[str, ...], note: Note) -> tuple[str, ...]:
    try:
        return expand(expression)
    except Misused as error:
        note(path, f"{path[-1]}: {error}")
        return ()


def _ramp(entry: RampEntry, injector_queues: int) -> Ramp:
    default_max = QUEUE_MAX_RATE * injector_queues
    return Ramp(
        initial_rate=entry.initial_rate,
        growth=entry.growth,
        interval_s=entry.interval,
        max_rate=default_max if entry.max_rate is None else entry.max_rate,
        warm_rate=entry.warm_rate,
        unsafe=entry.unsafe,
    )


def _check_shared(groups: dict[str, Group], note: Note) -> None:
    """Refuse a queue with two uses: two ramps would move its rate, or tasks would mix."""
    owners: dict[str, str] = {}
    for name, group in groups.items():
        for queue in (*group.injector_queues, *group.queues):
            if queue in owners:
                note(("groups", name), f"queue {queue} is used by {owners[queue]} too; use it once")
                break
            owners[queue] = f"group {name}"
