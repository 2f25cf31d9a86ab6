"""Operations done by the service: the command asks for them, and follows them while it stays."""

import msgspec

from injector.cli.client import Json, Service
from injector.cli.operating.view import Show, exit_code, follower
from injector.cli.options import service_at
from injector.operations.kind import AnyKind
from injector.operations.values import Fields, Plan
from injector.settings import read_settings

POLL_S = 2.0


def plan_there(kind: AnyKind, group: str, fields: Fields, url: str) -> Plan:
    """Let the service plan it, by what it sees."""
    return msgspec.convert(service_at(url).plan(group, kind.name, dict(fields)), Plan)


def apply_there(kind: AnyKind, group: str, fields: Fields, url: str, *, as_json: bool) -> int:
    """Let the service do it, and follow it; Ctrl-C ends the following, not the operation."""
    service = service_at(url)
    found, is_new = service.operate(group, kind.name, dict(fields))
    with follower(found, read_settings().clock, is_new=is_new, as_json=as_json) as show:
        return exit_code(follow(service, str(found["id"]), show))


def follow(service: Service, operation_id: str, show: Show) -> Json:
    """Show the operation until it ends or pauses; return how it is then."""
    while True:
        found = service.operation(operation_id)
        show(found)
        if found["state"] == "paused" or _is_over(found):
            return found
        service.clock.sleep(POLL_S)


def _is_over(operation: Json) -> bool:
    """Tell whether it has ended, and all that its end takes is done."""
    return operation["state"] != "running" and operation["acts_done"] == operation["acts"]
