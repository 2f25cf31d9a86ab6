"""What the service says when it refuses: codes, texts and details, as recorded from production.

The texts without a source are ours, in the same manner; their codes follow the documentation.
"""

from injector.emulator.api import messages
from injector.emulator.rpc import Code, RpcError

_REFERENCE = "https://cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues"


def invalid(message: str, *details: messages.Message) -> RpcError:
    """Return an INVALID_ARGUMENT."""
    return refusal(Code.INVALID_ARGUMENT, message, *details)


def queue_missing() -> RpcError:
    """Return what every call but DeleteQueue says of a queue that is not there."""
    return RpcError(
        Code.NOT_FOUND,
        "Queue does not exist. If you just created the queue, wait at least a minute for the "
        "queue to initialize.",
    )


def not_found() -> RpcError:
    """Return what is said of anything else that is not there."""
    return RpcError(Code.NOT_FOUND, "Requested entity was not found.")


def task_was_there() -> RpcError:
    """Return what is said of a task that is over, as long as its name is reserved."""
    return RpcError(
        Code.NOT_FOUND,
        "The task no longer exists, though a task with this name existed recently. The task "
        "either successfully completed or was deleted.",
    )


def queue_exists() -> RpcError:
    """Return the answer to a second CreateQueue."""
    return RpcError(Code.ALREADY_EXISTS, "Queue already exists")


def queue_was_there() -> RpcError:
    """Return the answer to a CreateQueue under the name of a deleted queue."""
    return RpcError(
        Code.FAILED_PRECONDITION,
        "The queue cannot be created because a queue with this name existed too recently.",
    )


def task_exists() -> RpcError:
    """Return the answer to a second CreateTask."""
    return RpcError(Code.ALREADY_EXISTS, "Requested entity already exists")


def task_name_reserved() -> RpcError:
    """Return the answer to a CreateTask under the name of a task that is over."""
    return RpcError(
        Code.ALREADY_EXISTS,
        "The task cannot be created because a task with this name existed too recently. For "
        f"more information about task de-duplication see {_REFERENCE}.tasks/"
        "create#body.request_body.FIELDS.task.",
    )


def task_too_large() -> RpcError:
    """Return the answer to a CreateTask whose stored form is over the limit."""
    return invalid("Task size too large.")


def bad_queue_name() -> RpcError:
    """Return the answer to a queue's name of the wrong shape."""
    return invalid(
        "Queue name must be formatted: "
        '"projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>".',
        _help("Definition of queue name", f"{_REFERENCE}#Queue.FIELDS.name"),
    )


def bad_task_name() -> RpcError:
    """Return the answer to a task's name of the wrong shape."""
    return invalid(
        "Task name must be formatted: "
        '"projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>/tasks/<TASK_ID>".',
        _help("Definition of task name", f"{_REFERENCE}.tasks#Task.FIELDS.name"),
    )


def bad_task_id(task_id: str) -> RpcError:
    """Return the answer to a task's name whose last part breaks the rules."""
    return invalid(
        f'Task ID "{task_id}" can contain only letters ([A-Za-z]), numbers ([0-9]), hyphens '
        "(-), or underscores (_). Task ID must between 1 and 500 characters.",
        _help("Definition of task ID", f"{_REFERENCE}.tasks#Task.FIELDS.name"),
    )


def other_queue(queue: str, named: str) -> RpcError:
    """Return the answer to a task that is named under another queue."""
    return invalid(
        f"The queue name from request ('{queue}') must be the same as the queue name in the "
        f"named task ('{named}')."
    )


def bad_parent(parent: str) -> RpcError:
    """Return the answer to a location's name of the wrong shape.

    Production takes the first part for a project, and finds no such consumer.
    """
    if not parent:
        return invalid("Invalid resource field value in the request.")
    project = parent.removeprefix("projects/").partition("/")[0]
    message = f"Permission denied on resource project {project}."
    return refusal(
        Code.PERMISSION_DENIED,
        message,
        messages.ErrorInfo(
            reason="CONSUMER_INVALID",
            domain="googleapis.com",
            metadata={
                "consumer": f"projects/{project}",
                "containerInfo": project,
                "service": "cloudtasks.googleapis.com",
            },
        ),
        messages.LocalizedMessage(locale="en-US", message=message),
        _help("Google developers console", "https://console.developers.google.com"),
    )


def refusal(code: Code, message: str, *details: messages.Message) -> RpcError:
    """Return an error with its details packed as the wire has them."""
    if not details:
        return RpcError(code, message)
    status = messages.Status(code=code, message=message)
    status.details.extend(pack(detail) for detail in details)
    return RpcError(code, message, status.SerializeToString())


def pack(message: messages.Message) -> messages.Any:
    """Wrap a message in an Any."""
    kind = f"type.googleapis.com/{message.DESCRIPTOR.full_name}"
    return messages.Any(type_url=kind, value=message.SerializeToString())


def _help(description: str, url: str) -> messages.Help:
    return messages.Help(links=[messages.Help.Link(description=description, url=url)])
