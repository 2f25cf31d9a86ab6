"""Queues and injector tasks over the process's line, for the feed and the controller."""

from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

from google.cloud.tasks_v2 import types
from google.iam.v1.iam_policy_pb2 import TestIamPermissionsRequest, TestIamPermissionsResponse

from injector.delivery.channel import CallFailed
from injector.delivery.cloud_tasks import routing
from injector.delivery.connection import Connection
from injector.delivery.deletes import delete_all
from injector.delivery.line import Line
from injector.delivery.ports import Create, Creator, Deleted, Queue, Result
from injector.delivery.queue_form import FIELDS, read_queue, write_queue
from injector.delivery.verdict import PASSING_FAULTS, remedy
from injector.errors import Conflict, InjectorError, Misused, NotFound, Retryable

CALL_TIMEOUT_S = 20.0
PAGE = 1000
RESERVED = (
    "a queue's name stays reserved for 3 to 7 days after its deletion: wait, or give the group "
    "other names, such as another suffix"
)

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
        write_queue(request.queue, queue, FIELDS if queue.retry else ("rate", "concurrency"))
        try:
            return self._ask(
                "CreateQueue", request.SerializeToString(), ("parent", parent), what=queue.name
            )
        except Conflict:
            return self.get_queue(queue.name)

    def set_queue(self, queue: Queue, only: Sequence[str]) -> Queue:
        """Set these fields of a queue that is there; the mask names each, so that all else stays.

        UpdateQueue creates a queue that is missing, so it is looked for first.
        """
        self.get_queue(queue.name)
        request = types.UpdateQueueRequest.pb()()
        request.update_mask.paths.extend(write_queue(request.queue, queue, only))
        return self._ask("UpdateQueue", request.SerializeToString(), ("queue.name", queue.name))

    def granted(self, queue: str, permissions: Sequence[str]) -> Sequence[str]:
        """Ask which of the permissions this process has on the queue."""
        request = TestIamPermissionsRequest(resource=queue, permissions=permissions)
        serialized = request.SerializeToString()
        answer = self._call("TestIamPermissions", serialized, ("resource", queue))
        return list(TestIamPermissionsResponse.FromString(answer).permissions)

    def list_queues(self, parent: str) -> Sequence[Queue]:
        """Return every queue of the location, a page of a thousand at a time."""
        found: list[Queue] = []
        request = types.ListQueuesRequest.pb()(parent=parent, page_size=PAGE)
        while True:
            serialized = request.SerializeToString()
            answer = self._call("ListQueues", serialized, ("parent", parent))
            page = types.ListQueuesResponse.pb().FromString(answer)
            found.extend(read_queue(queue) for queue in page.queues)
            if not page.next_page_token:
                return found
            request.page_token = page.next_page_token

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

    def _ask(self, method: str, request: bytes, about: tuple[str, str], *, what: str = "") -> Queue:
        answer = self._call(method, request, about, what=what)
        return read_queue(types.Queue.pb().FromString(answer))

    def _call(
        self, method: str, request: bytes, about: tuple[str, str], *, what: str = ""
    ) -> bytes:
        """Call about a resource; `what` names it where it is not the one of the routing."""

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
                raise _verdict(error.code, f"{method} {what or about[1]}: {error}") from error

        return self._connection.run(work)


def _verdict(code: str, message: str) -> InjectorError:
    if code == "NOT_FOUND":
        return NotFound(f"{message} ({remedy(code)})")
    if code == "ALREADY_EXISTS":
        return Conflict(message)
    if code in PASSING_FAULTS:
        return Retryable(f"{message} ({code})")
    if code == "FAILED_PRECONDITION" and message.startswith("CreateQueue"):
        return Misused(f"{message} ({RESERVED})")
    return Misused(f"{message} ({remedy(code)})")
