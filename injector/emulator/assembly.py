"""How an emulator is put together from its parts."""

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

from injector.emulator.api.methods import Method
from injector.emulator.api.service import Failure, Service
from injector.emulator.dispatch.tokens import Issuer
from injector.emulator.entry.bounded import Bounded
from injector.emulator.entry.counted import Counted
from injector.emulator.entry.durable import Durable
from injector.emulator.entry.faulty import Faulty
from injector.emulator.entry.loaded import Loaded
from injector.emulator.entry.quota import Quota
from injector.emulator.entry.table import Table
from injector.emulator.entry.timed import PUBLISH, Timed
from injector.emulator.faults.plan import Effect, Plan
from injector.emulator.options import Options
from injector.emulator.parts import Parts
from injector.emulator.records.history import History
from injector.emulator.records.metrics import Metrics
from injector.emulator.records.operations_log import OperationsLog
from injector.emulator.rpc import Handle, RpcError
from injector.emulator.state.registry import Registry
from injector.emulator.storage.pending import Pending
from injector.emulator.storage.state_file import StateFile
from injector.emulator.timeline import Timeline

if TYPE_CHECKING:
    from injector.emulator.pubsub.parts import PubSubParts

_FAILING = frozenset({Effect.FAIL_OPERATION})


def assemble(options: Options) -> Parts:
    """Return the parts of an emulator that nobody has called yet, with the state of its file."""
    clock = Timeline(speed=options.speed, origin=options.origin)
    if options.frozen:
        clock.freeze(options.origin)
    draw = Random(options.seed).random  # noqa: S311  # chance, not secrets
    plan = Plan(draw)
    service = Service(Registry(), clock.now, rules=options.rules, seed=options.seed)
    service.failing, service.sleep = _failing(plan, clock), clock.sleep
    history, metrics, log = History(), Metrics(), OperationsLog(service.configs)
    pending = Pending()
    witnesses = (history, metrics, log, *([pending] if options.state_file else []))
    service.registry = Registry(witnesses, dynamics=options.dynamics, windows=options.windows)
    file = _state_file(options, service, pending)
    pubsub = _pubsub(clock, plan, metrics)
    more = {**_telemetry(metrics, log), **(pubsub.methods if pubsub else {})}
    table = Table(service, more)
    inner: Handle = Bounded(table if file is None else Durable(table, file))
    if options.quotas:
        inner = Quota(inner, clock.now, table.resource)
    if options.overload is not None:
        inner = Loaded(inner, options.overload, clock, draw)
    handle: Handle = Faulty(inner, plan, clock, table.resource)
    if pubsub:
        handle = Timed(handle, PUBLISH, pubsub.publish_ended)
    return Parts(
        service=service,
        clock=clock,
        plan=plan,
        history=history,
        metrics=metrics,
        log=log,
        issuer=Issuer(options.issuer_name()),
        handle=Counted(handle, metrics.call_ended),
        state_file=file,
        pubsub=pubsub,
    )


def _state_file(options: Options, service: Service, pending: Pending) -> StateFile | None:
    if options.state_file is None:
        return None
    file = StateFile(options.state_file, service, pending)
    file.restore()
    return file


def _telemetry(metrics: Metrics, log: OperationsLog) -> dict[str, Method]:
    """Return the methods of monitoring and logging; none without their client libraries."""
    try:
        from injector.emulator.telemetry import log_entries, time_series  # noqa: PLC0415
    except ImportError:  # the extra `monitoring` is not installed
        return {}
    return {**time_series.methods(metrics), **log_entries.methods(log)}


def _pubsub(clock: Timeline, plan: Plan, metrics: Metrics) -> "PubSubParts | None":
    """Return Pub/Sub; None without its client library."""
    try:
        from injector.emulator.pubsub.parts import assemble_pubsub  # noqa: PLC0415
    except ImportError:  # the extra `pubsub` is not installed
        return None
    return assemble_pubsub(clock, plan, metrics)


def _failing(plan: Plan, clock: Timeline) -> Callable[[str, str], Failure | None]:
    """Return what tells of a batch whether the plan wants its operation to fail."""

    def failing(method: str, queue: str) -> Failure | None:
        if plan.is_empty:
            return None
        struck = plan.strike(method, queue, now=clock.now(), effects=_FAILING)
        if not struck:
            return None
        fault = struck[0][0]
        return Failure(RpcError(fault.code, fault.message or "Failed by the plan."), fault.done)

    return failing
