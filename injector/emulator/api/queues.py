"""The methods on queues."""

from injector.emulator.api import instants, masks, messages, pages, paths, queue_form
from injector.emulator.api.refusals import (
    bad_queue_name,
    invalid,
    not_found,
    queue_exists,
    queue_was_there,
)
from injector.emulator.api.service import Service
from injector.emulator.filtering.parser import compile_filter
from injector.emulator.filtering.values import Reader, at_path
from injector.emulator.rpc import Code, RpcError
from injector.emulator.state.queue import Queue

_LARGEST_PAGE = 9800
_OUTPUT_ONLY = frozenset({"name", "state", "purge_time", "rate_limits.max_burst_size"})


def get_queue(service: Service, request: messages.GetQueueRequest) -> messages.Queue:
    """Return a queue."""
    return render(service, service.queue(request.name))


def list_queues(
    service: Service, request: messages.ListQueuesRequest
) -> messages.ListQueuesResponse:
    """Return a page of a location's queues, by name."""
    paths.location(request.parent)
    accepts = compile_filter(request.filter, _field)
    scope = f"queues/{request.parent}/{request.filter}"
    now = service.now()
    after = pages.read(request.page_token, scope=scope, now=now)
    size = pages.size(request.page_size, _LARGEST_PAGE)
    prefix = f"{request.parent}/queues/"
    names = sorted(n for n in service.registry.queues if n.startswith(prefix) and n > after)
    response = messages.ListQueuesResponse()
    for name in names[:size]:
        queue = render(service, service.registry.queues[name])
        if accepts(_tree(queue)):
            response.queues.append(queue)
    if len(names) > size:
        response.next_page_token = pages.write(names[size - 1], scope=scope, now=now)
    return response


def create_queue(service: Service, request: messages.CreateQueueRequest) -> messages.Queue:
    """Make a queue."""
    where = paths.location(request.parent)
    name = request.queue.name
    if paths.location_of_queue(name) != request.parent:
        raise invalid(
            f"The queue's parent ('{request.parent}') must be the location in its name ('{name}')."
        )
    if name in service.registry.queues:
        raise queue_exists()
    return _make(service, request.queue, where)


def update_queue(service: Service, request: messages.UpdateQueueRequest) -> messages.Queue:
    """Change a queue, or make it if there is none."""
    if not request.queue.name:
        raise bad_queue_name()
    where = paths.location(paths.location_of_queue(request.queue.name))
    queue = service.registry.queues.get(request.queue.name)
    config = messages.Queue(name=request.queue.name)
    if queue is not None:
        config.CopyFrom(service.configs[queue.name])
    _apply(request, config)
    if queue is None:
        return _make(service, config, where)
    limits = queue_form.complete(config, where)
    service.configs[queue.name] = config
    service.registry.configure(queue, limits, now=service.now())
    service.wake()
    return render(service, queue)


def delete_queue(service: Service, request: messages.DeleteQueueRequest) -> messages.Empty:
    """Delete a queue with its tasks."""
    paths.location_of_queue(request.name)
    queue = service.registry.queues.get(request.name)
    if queue is None:
        raise not_found()  # production has another text here than everywhere else
    service.registry.close(queue, now=service.now())
    del service.configs[queue.name]
    service.set_policy(queue.name, None)
    return messages.Empty()


def purge_queue(service: Service, request: messages.PurgeQueueRequest) -> messages.Queue:
    """Delete a queue's tasks: at once, where production takes up to a minute."""
    queue = service.queue(request.name)
    service.registry.purge(queue, now=service.now())
    return render(service, queue)


def pause_queue(service: Service, request: messages.PauseQueueRequest) -> messages.Queue:
    """Stop a queue's dispatches."""
    queue = service.queue(request.name)
    service.registry.pause(queue)
    return render(service, queue)


def resume_queue(service: Service, request: messages.ResumeQueueRequest) -> messages.Queue:
    """Let a queue dispatch again."""
    queue = service.queue(request.name)
    service.registry.resume(queue, now=service.now())
    service.wake()
    return render(service, queue)


def render(service: Service, queue: Queue) -> messages.Queue:
    """Return a queue as callers see it."""
    message = messages.Queue()
    message.CopyFrom(service.configs[queue.name])
    message.state = queue.state.value
    if queue.purged_at is not None:
        instants.write(message.purge_time, queue.purged_at)
    return message


def _make(service: Service, config: messages.Queue, where: paths.Location) -> messages.Queue:
    now = service.now()
    if service.rules.locations and where.location not in service.rules.locations:
        raise invalid(
            f"Location '{where.location}' is not a valid location. Use ListLocations to list "
            "valid locations."
        )
    limits = queue_form.complete(config, where)
    if service.registry.was_there(config.name, now=now):
        raise queue_was_there()
    _check_quota(service, config.name)
    kept = service.configs[config.name] = messages.Queue()
    kept.CopyFrom(config)
    return render(service, service.registry.open(config.name, limits, now=now))


def _check_quota(service: Service, name: str) -> None:
    most = service.rules.max_queues
    prefix = name.rpartition("/")[0] + "/"
    if most and sum(name.startswith(prefix) for name in service.registry.queues) >= most:
        raise RpcError(Code.RESOURCE_EXHAUSTED, f"A location can have at most {most} queues.")


def _field(name: str) -> Reader:
    """Return what reads a queue's field by its dotted name, in snake_case or camelCase."""
    path: list[str] = []
    here: messages.Descriptor | None = messages.Queue.DESCRIPTOR
    for part in name.split("."):
        fields = here.fields if here is not None else []
        field = next((f for f in fields if part in (f.name, f.camelcase_name)), None)
        if field is None:
            raise invalid(f"Invalid filter: '{name}' is not a field of a queue.")
        path.append(field.name)
        here = field.message_type
    return at_path(tuple(path))


def _tree(queue: messages.Queue) -> dict[str, object]:
    return messages.MessageToDict(
        queue, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _apply(request: messages.UpdateQueueRequest, config: messages.Queue) -> None:
    """Copy the fields of the mask; without one, all of them."""
    named = list(request.update_mask.paths)
    if not named or named == ["*"]:
        config.CopyFrom(request.queue)
        return
    masks.copy_fields(request.queue, messages.Queue(), named)  # refuses unknown paths first
    masks.copy_fields(request.queue, config, [p for p in named if p not in _OUTPUT_ONLY])
