"""google.longrunning.Operations: what became of a batch."""

from collections.abc import Awaitable

from injector.emulator.api import instants, messages, pages, paths
from injector.emulator.api.refusals import invalid, not_found
from injector.emulator.api.service import Service

_LARGEST_PAGE = 1000
_LONGEST_WAIT_S = 60.0
_POLL_S = 0.02


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
    forms = (_form(service, name) for name in names[start : start + size])
    taken = pages.fill(response.operations, map(messages.Operation.FromString, forms))
    if len(names) > start + taken:
        response.next_page_token = pages.write(str(start + taken), scope=scope, now=now)
    return response


def wait_operation(
    service: Service, request: messages.WaitOperationRequest
) -> bytes | Awaitable[bytes]:
    """Return an operation once it is done, or as it is when the time is over."""
    form = _form(service, request.name)
    if not service.operations.is_pending(request.name):
        return form
    wait_s = min(max(0.0, instants.span_s(request.timeout)), _LONGEST_WAIT_S) or _LONGEST_WAIT_S
    return _once_done(service, request.name, until=service.now() + wait_s)


async def _once_done(service: Service, name: str, *, until: float) -> bytes:
    while service.operations.is_pending(name) and service.now() < until:
        await service.sleep(_POLL_S)
    return _form(service, name)


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
