"""What a group's queues are to be like, what differs, and what would mend it; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace

from injector.delivery.ports import Queue
from injector.groups import Retry
from injector.operations.values import Act, Fields
from injector.queue_names import so_many

CREATE, SET = "create_queue", "set_queue"
MOST_QUEUES = 1000
"""How many queues a region has by default."""

INJECTOR_CONCURRENCY = 10
INJECTOR_RETRY = Retry(max_backoff_s=60.0, max_doublings=6, min_backoff_s=1.0)
RETRY = tuple(each.name for each in fields(Retry))


@dataclass(frozen=True, slots=True)
class Wanted:
    """A queue as it is to be, and which of its fields are ours to set once it is there."""

    queue: Queue
    owned: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """A queue to create, or the fields to set of one that is there."""

    queue: Queue
    fields: tuple[str, ...] = ()

    @property
    def creates(self) -> bool:
        """Tell whether the queue is not there yet."""
        return not self.fields

    @property
    def act(self) -> Act:
        """Return the act that makes the change."""
        values: Fields = asdict(self.queue) | {"only": list(self.fields)}
        return Act(CREATE if self.creates else SET, self.queue.name, values)


def target(
    name: str, *, rate: float | None, concurrency: int | None, retry: Retry | None
) -> Wanted:
    """Say what a queue of the group is to be like; what is None is left as it is."""
    given = {"rate": rate, "concurrency": concurrency}
    owned = tuple(key for key, value in given.items() if value is not None)
    queue = Queue(name, rate=rate or 500.0, concurrency=concurrency or 1000, retry=retry or Retry())
    return Wanted(queue, owned + (RETRY if retry else ()))


def injector(name: str, *, rate: float) -> Wanted:
    """Say what an injector queue is to be like; its rate and concurrency are the controller's."""
    queue = Queue(name, rate=rate, concurrency=INJECTOR_CONCURRENCY, retry=INJECTOR_RETRY)
    return Wanted(queue, RETRY)


def changes(wanted: Sequence[Wanted], found: Mapping[str, Queue]) -> Iterator[Change]:
    """Yield what must change, in order; a queue that is as wanted is left alone."""
    for each in wanted:
        there = found.get(each.queue.name)
        if there is None:
            yield Change(each.queue)
        elif differing := differences(each, there):
            yield Change(each.queue, differing)


def differences(wanted: Wanted, found: Queue) -> tuple[str, ...]:
    """Name the owned fields in which the queue differs."""
    retry = found.retry or Retry()
    return tuple(
        name
        for name in wanted.owned
        if _differ(_field(wanted.queue, name), getattr(retry if name in RETRY else found, name))
    )


def changed(act: Act) -> tuple[Queue, tuple[str, ...]]:
    """Read the queue and the fields of an act back."""
    values = dict(act.values)
    only = values.pop("only", ())
    retry = values.pop("retry")
    queue = Queue(**values)  # type: ignore[arg-type]  # as asdict wrote them
    names = tuple(map(str, only)) if isinstance(only, list | tuple) else ()
    return (replace(queue, retry=Retry(**retry)) if isinstance(retry, dict) else queue), names


def limit_problem(there: int, more: int, place: str) -> str:
    """Say that a region cannot have so many queues; empty when it can."""
    if there + more <= MOST_QUEUES:
        return ""
    return (
        f"{place} has {so_many(there)}, and {more} more are over the {MOST_QUEUES:,} that a region "
        "has by default; ask for a higher quota, or delete queues that are not used"
    )


def _field(queue: Queue, name: str) -> object:
    return getattr(queue.retry or Retry(), name) if name in RETRY else getattr(queue, name)


def _differ(one: object, other: object) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) > 1e-6
    return one != other
