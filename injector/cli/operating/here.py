"""Operations done from this machine: the command itself goes on with them until they end."""

import os
import secrets
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager

from injector.cli.operating.place import with_queues
from injector.cli.operating.view import exit_code, follower
from injector.cli.operating.who import user
from injector.ledger import open_ledger
from injector.operations.kind import AnyKind
from injector.operations.kinds import KINDS
from injector.operations.runner import LEASE_S, Runner, drive
from injector.operations.shown import shown
from injector.operations.steering import begin, new_operation
from injector.operations.values import Fields, Operation, Plan
from injector.queues.ports import ports_at
from injector.settings import Settings

MACHINE_S = 10.0
"""How many of this machine's seconds a turn lasts at least, whatever the clock's speed."""


def plan_here(
    kind: AnyKind, group: str, fields: Fields, settings: Settings, *, url: str = ""
) -> Plan:
    """Plan the operation by what the queues are like now."""
    operation = _operation(kind, group, with_queues(group, fields, settings, url=url), settings)
    with ports_at(settings) as ports:
        return kind.foresee(operation, ports, settings.clock.now())


def apply_here(
    kind: AnyKind, group: str, fields: Fields, settings: Settings, *, as_json: bool
) -> int:
    """Begin the operation, or find it under way, and go on with it until it ends."""
    operation = _operation(kind, group, with_queues(group, fields, settings), settings)
    with runner_here(settings) as runner:
        operation, is_new = begin(runner.ledger, operation)
        return stay(runner, operation, is_new=is_new, as_json=as_json)


def stay(runner: Runner, operation: Operation, *, is_new: bool, as_json: bool) -> int:
    """Go on with the operation until it ends, and show it meanwhile."""
    with follower(shown(operation), runner.clock, is_new=is_new, as_json=as_json) as show:
        return exit_code(shown(drive(runner, operation.id, lambda found: show(shown(found)))))


@contextmanager
def runner_here(settings: Settings) -> Iterator[Runner]:
    """Give what goes on with operations from here."""
    with closing(open_ledger(settings.ledger_url)) as ledger, ports_at(settings) as ports:
        yield Runner(
            ledger,
            ports,
            KINDS,
            settings.clock,
            owner=f"{socket.gethostname()}/{os.getpid()}",
            lease_s=max(LEASE_S, MACHINE_S * settings.clock_speed),
        )


def _operation(kind: AnyKind, group: str, fields: Fields, settings: Settings) -> Operation:
    return new_operation(
        kind,
        group,
        fields,
        now=settings.clock.now(),
        who=user(),
        draw=secrets.randbelow(1 << 16),
    )
