"""Queues and injector tasks over the process's line, for the feed and the controller."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

from google.cloud.tasks_v2 import types

from injector.delivery.cloud_tasks import routing
from injector.delivery.connection import Connection
from injector.delivery.deletes import delete_all
from injector.delivery.line import CallFailed, Line
from injector.delivery.ports import OWN_CODES, Create, Creator, Deleted, Queue, Result
from injector.delivery.verdict import OVERLOAD_FAULTS, remedy
from injector.errors import Conflict, InjectorError, Misused, NotFound, Retryable

CALL_TIMEOUT_S = 20.0

_SERVICE = "/google.cloud.tasks.v2.CloudTasks/"


class CloudTasksAdmin:
    """Administers queues of Cloud Tasks; injector tasks leave through `creator`."""

    def __init__(self, connection: Connection, creator: Creator) -> None:
        self._connection = connection
        self._creator = creator

    def get_queue(self, queue: str) -> Queue:
        """Return the queue of that full resource name."""
        request = types.GetQueueRequest.pb()(name=queue).SerializeToString()
        return self._ask("GetQueue", request, ("name", queue))

    def update_rate(
        self, queue: str, *, rate: float | None = None, concurrency: int | None = None
    ) -> Queue:
        """Set only what is given: the mask names the sub-fields, so that all else stays.

        UpdateQueue creates a queue that is missing, so it is looked for first.
        """
        found = self.get_queue(queue)
        request = types.UpdateQueueRequest.pb()()
        request.queue.name = queue
        if rate is not None:
            request.queue.rate_limits.max_dispatches_per_second = rate
            request.update_mask.paths.append("rate_limits.max_dispatches_per_second")
        if concurrency is not None:
            request.queue.rate_limits.max_concurrent_dispatches = concurrency
            request.update_mask.paths.append("rate_limits.max_concurrent_dispatches")
        if not request.update_mask.paths:
            return found
        return self._ask("UpdateQueue", request.SerializeToString(), ("queue.name", queue))

    def pause_queue(self, queue: str) -> Queue:
        """Keep the queue from dispatching."""
        request = types.PauseQueueRequest.pb()(name=queue).SerializeToString()
        return self._ask("PauseQueue", request, ("name", queue))

    def resume_queue(self, queue: str) -> Queue:
        """Let the queue dispatch again."""
        request = types.ResumeQueueRequest.pb()(name=queue).SerializeToString()
        return self._ask("ResumeQueue", request, ("name", queue))

    def create_queue(self, queue: Queue) -> Queue:
        """Create the queue unless it is there."""
        parent = queue.name.rpartition("/queues/")[0]
        request = types.CreateQueueRequest.pb()(parent=parent)
        request.queue.name = queue.name
        request.queue.rate_limits.max_dispatches_per_second = queue.rate
        request.queue.rate_limits.max_concurrent_dispatches = queue.concurrency
        try:
            return self._ask("CreateQueue", request.SerializeToString(), ("parent", parent))
        except Conflict:
            return self.get_queue(queue.name)

    def create_injector_tasks(self, creates: Sequence[Create], *, budget_s: float) -> list[Result]:
        """Create injector tasks."""
        return self._creator.create_all(creates, budget_s=budget_s)

    def delete_tasks(
        self, names: Mapping[str, Sequence[str]], *, mark: str, budget_s: float
    ) -> Deleted:
        """Delete tasks, as one batch for each queue where the service has batches."""
        return self._connection.run(partial(delete_all, names=names, mark=mark, budget_s=budget_s))

    def close(self) -> None:
        """Close the connection."""
        self._creator.close()

    def _ask(self, method: str, request: bytes, about: tuple[str, str]) -> Queue:
        async def work(line: Line) -> bytes:
            try:
                return await line.call(
                    _SERVICE + method,
                    request,
                    about=routing(*about),
                    deadline=inf,
                    most_s=CALL_TIMEOUT_S,
                )
            except CallFailed as error:
                raise _verdict(error.code, f"{method} {about[1]}: {error}") from error

        return _as_queue(self._connection.run(work))


def _as_queue(answer: bytes) -> Queue:
    queue = types.Queue.pb().FromString(answer)
    return Queue(
        name=queue.name,
        state=types.Queue.State(queue.state).name,
        rate=queue.rate_limits.max_dispatches_per_second,
        concurrency=queue.rate_limits.max_concurrent_dispatches,
        burst=queue.rate_limits.max_burst_size,
    )


def _verdict(code: str, message: str) -> InjectorError:
    if code == "NOT_FOUND":
        return NotFound(f"{message} ({remedy(code)})")
    if code == "ALREADY_EXISTS":
        return Conflict(message)
    if code in OVERLOAD_FAULTS | OWN_CODES | {"INTERNAL", "UNKNOWN", "CANCELLED"}:
        return Retryable(f"{message} ({code})")
    return Misused(f"{message} ({remedy(code)})")
