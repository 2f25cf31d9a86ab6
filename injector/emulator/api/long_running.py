"""google.longrunning.Operations: what became of a batch."""

from injector.emulator.api import instants, messages, pages, paths
from injector.emulator.api.refusals import invalid, not_found
from injector.emulator.api.service import Service

_LARGEST_PAGE = 1000


def get_operation(service: Service, request: messages.GetOperationRequest) -> bytes:
    """Return an operation as it is now."""
    return _form(service, request.name)


def list_operations(
    service: Service, request: messages.ListOperationsRequest
) -> messages.ListOperationsResponse:
    """Return a page of a location's operations, oldest first; filters are not supported."""
    parent = request.name.removesuffix("/operations")
    paths.location(parent)
    if request.filter not in ("", "done=true", "done=false", "done = true", "done = false"):
        raise invalid("The filter of ListOperations can only be on `done`.")
    scope = f"operations/{parent}/{request.filter}"
    now = service.now()
    start = int(pages.read(request.page_token, scope=scope, now=now) or 0)
    size = pages.size(request.page_size, _LARGEST_PAGE)
    names = [n for n in service.operations.names(parent) if _accepts(service, request.filter, n)]
    response = messages.ListOperationsResponse()
    for name in names[start : start + size]:
        response.operations.append(messages.Operation.FromString(_form(service, name)))
    if len(names) > start + size:
        response.next_page_token = pages.write(str(start + size), scope=scope, now=now)
    return response


def wait_operation(service: Service, request: messages.WaitOperationRequest) -> bytes:
    """Return an operation at once: the method promises no more than to wait at most so long."""
    instants.span_s(request.timeout)
    return _form(service, request.name)


def cancel_operation(service: Service, request: messages.CancelOperationRequest) -> messages.Empty:
    """Cancel an operation, if it has not done its work yet."""
    _form(service, request.name)
    service.operations.cancel(request.name)
    return messages.Empty()


def delete_operation(service: Service, request: messages.DeleteOperationRequest) -> messages.Empty:
    """Forget an operation's result."""
    _form(service, request.name)
    service.operations.delete(request.name)
    return messages.Empty()


def _accepts(service: Service, wanted: str, name: str) -> bool:
    return not wanted or service.operations.is_pending(name) == wanted.endswith("false")


def _form(service: Service, name: str) -> bytes:
    form = service.operations.form(name)
    if form is None:
        raise not_found()
    return form
