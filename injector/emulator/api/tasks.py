"""The methods on tasks."""

from itertools import islice

from injector.emulator.api import instants, messages, pages, paths, task_form, task_wire, views
from injector.emulator.api.refusals import (
    bad_task_id,
    bad_task_name,
    not_found,
    other_queue,
    task_exists,
    task_name_reserved,
    task_too_large,
)
from injector.emulator.api.service import Service
from injector.emulator.api.task_wire import VIEW
from injector.emulator.state.queue import Queue
from injector.emulator.state.task import Task

_LARGEST_PAGE = 1000


def create_ordinary_task(service: Service, request: bytes) -> bytes | None:
    """Put an ordinary task into a queue; None if the request is about another, or is none."""
    create = task_wire.read_create(request)
    if create is None:
        return None
    parent, ordinary, view = create
    queue = service.queue_for_tasks(parent)
    form, answer = put_ordinary(service, queue, ordinary, now=service.now())
    return answer if view == messages.BASIC else form + VIEW[view]


def create_task(service: Service, request: messages.CreateTaskRequest) -> bytes:
    """Put a task into a queue."""
    view = views.check(request.response_view)
    queue = service.queue_for_tasks(request.parent)
    return put(service, queue, request.task, view, now=service.now())


def put(service: Service, queue: Queue, message: messages.Task, view: int, *, now: float) -> bytes:
    """Check, complete and store a task; return it serialized in the view that was asked for."""
    ordinary = task_wire.read(message.SerializeToString())
    if ordinary is not None:
        form, answer = put_ordinary(service, queue, ordinary, now=now)
        return answer if view == messages.BASIC else form + VIEW[view]
    task = _new(service, queue, message.name, now=now)
    return _put_by_fields(service, queue, message, task, view)


def put_ordinary(
    service: Service,
    queue: Queue,
    ordinary: task_wire.Ordinary,
    *,
    now: float,
    times: bytes = b"",
) -> tuple[bytes, bytes]:
    """Store an ordinary task; return its form, and how a create answers it.

    The `times` of a task that is due at once are those of now; several tasks may share them.
    """
    name, request, schedule = ordinary
    task = _new(service, queue, name, now=now)
    if schedule is not None:
        task.schedule_at = task_form.due_at(schedule, now=now)
    if schedule is not None or not times:
        times = task_wire.times(task.schedule_at, created=now)
    form, answer = task_wire.forms(queue.prefix, task.id, request, times)
    if len(form) > service.rules.max_task_bytes:
        raise task_too_large()
    task.form = form
    if service.registry.add(queue, task):
        service.wake()
    return form, answer


def _new(service: Service, queue: Queue, name: str, *, now: float) -> Task:
    """Return a task under its name, or under one that is made up, in no queue yet."""
    task_id = _claim(queue, name, now=now) if name else service.make_id(queue, now=now)
    task = Task(task_id, b"", now, now)
    task.generated = not name
    return task


def _put_by_fields(
    service: Service, queue: Queue, message: messages.Task, task: Task, view: int
) -> bytes:
    """Put in a task that is not an ordinary one, or say what is wrong with it."""
    task.to_app_engine = task_form.complete(message, service.configs[queue.name])
    if service.rules.service_accounts:
        _check_account(message, service.rules.service_accounts)
    message.name = queue.prefix + task.id
    message.create_time.seconds = int(task.created_at)
    task.schedule_at = task_form.schedule_time(message, now=task.created_at)
    instants.write(message.schedule_time, task.schedule_at)
    task.retry = task_form.retry_of(message)
    form = task.form = message.SerializeToString()
    if len(form) >= task_form.SMALL:
        task_form.check_size(form, message, limit=service.rules.max_task_bytes)
    if service.registry.add(queue, task):
        service.wake()
    return _answer(form, message, view)


def get_task(service: Service, request: messages.GetTaskRequest) -> messages.Task:
    """Return a task."""
    view = views.check(request.response_view)
    return views.render(service.task(request.name)[1], view)


def list_tasks(service: Service, request: messages.ListTasksRequest) -> messages.ListTasksResponse:
    """Return a page of a queue's tasks, in the order of their creation; of large ones fewer."""
    view = views.check(request.response_view)
    queue = service.queue(request.parent)
    scope = f"tasks/{request.parent}"
    now = service.now()
    after = int(pages.read(request.page_token, scope=scope, now=now) or -1)
    size = pages.size(request.page_size, _LARGEST_PAGE)
    found = list(islice(queue.tasks_after(after), size + 1))
    response = messages.ListTasksResponse()
    taken = pages.fill(response.tasks, (views.render(task, view) for task in found[:size]))
    if len(found) > taken:
        response.next_page_token = pages.write(str(found[taken - 1].seq), scope=scope, now=now)
    return response


def delete_task(service: Service, request: messages.DeleteTaskRequest) -> messages.Empty:
    """Delete a task, also one that is being attempted."""
    queue, task = service.task(request.name)
    service.registry.remove(queue, task, reason="deleted", now=service.now())
    return messages.Empty()


def run_task(service: Service, request: messages.RunTaskRequest) -> messages.Task:
    """Dispatch a task now, whatever its schedule and the queue's state and limits."""
    view = views.check(request.response_view)
    queue, task = service.task(request.name)
    service.start(queue, service.registry.force(queue, task, now=service.now()))
    return views.render(task, view)


def _claim(queue: Queue, name: str, *, now: float) -> str:
    """Return the id in a name that the caller chose; raises RpcError unless it is free."""
    if not name.startswith(queue.prefix):
        raise other_queue(queue.name, paths.split_task(name)[0])
    task_id = name[len(queue.prefix) :]
    if not paths.is_task_id(task_id):
        raise bad_task_name() if "/" in task_id else bad_task_id(task_id)
    if queue.names.is_taken(task_id, now=now):
        reserved = queue.names.was_there(task_id, now=now)
        raise task_name_reserved() if reserved else task_exists()
    return task_id


def _check_account(message: messages.Task, known: frozenset[str]) -> None:
    """Check that the task's service account exists, as production does."""
    request = message.http_request
    kind = request.WhichOneof("authorization_header")
    token = request.oidc_token if kind == "oidc_token" else request.oauth_token
    if kind is not None and token.service_account_email not in known:
        raise not_found()


def _answer(form: bytes, message: messages.Task, view: int) -> bytes:
    if view == messages.BASIC:
        views.drop_body(message)
        form = message.SerializeToString()
    return form + VIEW[view]
