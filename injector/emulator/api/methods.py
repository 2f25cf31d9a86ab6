"""The table of methods: a full name, the request's class, and the function that answers."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from injector.emulator.api import (
    batches,
    long_running,
    messages,
    places,
    policies,
    queues,
    tasks,
)
from injector.emulator.api.refusals import invalid
from injector.emulator.api.service import Service

TASKS = "/google.cloud.tasks.v2.CloudTasks/"
_OPERATIONS = "/google.longrunning.Operations/"
_LOCATIONS = "/google.cloud.location.Locations/"

_RESOURCES = (
    ("queue", "name"),
    ("parent",),
    ("name",),
    ("resource",),
    ("cmek_config", "name"),
    ("subscription",),
    ("subscription", "name"),
    ("topic",),
    ("topic", "name"),
    ("project",),
)
"""Where requests have the resource that they are about; the first that is there is it."""


@dataclass(frozen=True, slots=True)
class Method:
    """One method: how its request is read, and what answers it.

    `shortcut` may answer without reading the request as a message; where it returns None, it has
    done nothing.
    """

    request: type[messages.Message]
    answer: Callable[..., bytes | messages.Message | Awaitable[bytes]]
    shortcut: Callable[[Service, bytes], bytes | None] | None = None

    def __call__(self, service: Service, request: bytes) -> bytes | Awaitable[bytes]:
        """Answer a serialized request, serialized, perhaps later; raises RpcError."""
        if self.shortcut is not None and (short := self.shortcut(service, request)) is not None:
            return short
        try:
            message = self.request.FromString(request)
        except messages.DecodeError as error:
            raise invalid("The request cannot be parsed.") from error
        answer = self.answer(service, message)
        return answer.SerializeToString() if isinstance(answer, messages.Message) else answer

    def resource(self, request: bytes) -> str:
        """Return the resource that a request names; empty if it cannot be read."""
        try:
            message = self.request.FromString(request)
        except messages.DecodeError:
            return ""
        for path in _RESOURCES:
            found: object = message
            for name in path:
                found = getattr(found, name, None)
            if isinstance(found, str):
                return found
        return ""


METHODS: dict[str, Method] = {
    TASKS + "ListQueues": Method(messages.ListQueuesRequest, queues.list_queues),
    TASKS + "GetQueue": Method(messages.GetQueueRequest, queues.get_queue),
    TASKS + "CreateQueue": Method(messages.CreateQueueRequest, queues.create_queue),
    TASKS + "UpdateQueue": Method(messages.UpdateQueueRequest, queues.update_queue),
    TASKS + "DeleteQueue": Method(messages.DeleteQueueRequest, queues.delete_queue),
    TASKS + "PurgeQueue": Method(messages.PurgeQueueRequest, queues.purge_queue),
    TASKS + "PauseQueue": Method(messages.PauseQueueRequest, queues.pause_queue),
    TASKS + "ResumeQueue": Method(messages.ResumeQueueRequest, queues.resume_queue),
    TASKS + "GetIamPolicy": Method(messages.GetIamPolicyRequest, policies.get_iam_policy),
    TASKS + "SetIamPolicy": Method(messages.SetIamPolicyRequest, policies.set_iam_policy),
    TASKS + "TestIamPermissions": Method(
        messages.TestIamPermissionsRequest, policies.test_iam_permissions
    ),
    TASKS + "ListTasks": Method(messages.ListTasksRequest, tasks.list_tasks),
    TASKS + "GetTask": Method(messages.GetTaskRequest, tasks.get_task),
    TASKS + "CreateTask": Method(
        messages.CreateTaskRequest, tasks.create_task, tasks.create_ordinary_task
    ),
    TASKS + "DeleteTask": Method(messages.DeleteTaskRequest, tasks.delete_task),
    TASKS + "RunTask": Method(messages.RunTaskRequest, tasks.run_task),
    TASKS + "BatchCreateTasks": Method(
        messages.BatchCreateTasksRequest,
        batches.batch_create_tasks,
        batches.batch_create_ordinary_tasks,
    ),
    TASKS + "BatchDeleteTasks": Method(
        messages.BatchDeleteTasksRequest, batches.batch_delete_tasks
    ),
    TASKS + "GetCmekConfig": Method(messages.GetCmekConfigRequest, places.get_cmek_config),
    TASKS + "UpdateCmekConfig": Method(messages.UpdateCmekConfigRequest, places.update_cmek_config),
    _OPERATIONS + "ListOperations": Method(
        messages.ListOperationsRequest, long_running.list_operations
    ),
    _OPERATIONS + "GetOperation": Method(messages.GetOperationRequest, long_running.get_operation),
    _OPERATIONS + "WaitOperation": Method(
        messages.WaitOperationRequest, long_running.wait_operation
    ),
    _OPERATIONS + "CancelOperation": Method(
        messages.CancelOperationRequest, long_running.cancel_operation
    ),
    _OPERATIONS + "DeleteOperation": Method(
        messages.DeleteOperationRequest, long_running.delete_operation
    ),
    _LOCATIONS + "ListLocations": Method(messages.ListLocationsRequest, places.list_locations),
    _LOCATIONS + "GetLocation": Method(messages.GetLocationRequest, places.get_location),
}
"""Everything that google-cloud-tasks 2.26 calls, and the rest of long-running operations."""
