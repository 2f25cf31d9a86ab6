"""How an emulator is put together from its parts."""

from collections.abc import Callable
from random import Random

from injector.emulator.api.methods import Method
from injector.emulator.api.service import Failure, Service
from injector.emulator.dispatch.tokens import Issuer
from injector.emulator.entry.bounded import Bounded
from injector.emulator.entry.counted import Counted
from injector.emulator.entry.faulty import Faulty
from injector.emulator.entry.table import Table
from injector.emulator.faults.plan import Effect, Plan
from injector.emulator.options import Options
from injector.emulator.parts import Parts
from injector.emulator.records.history import History
from injector.emulator.records.metrics import Metrics
from injector.emulator.records.operations_log import OperationsLog
from injector.emulator.rpc import Code, Handle, RpcError
from injector.emulator.state.registry import Registry
from injector.emulator.timeline import Timeline

_FAILING = frozenset({Effect.FAIL_OPERATION})


def assemble(options: Options) -> Parts:
    """Return the parts of an emulator that nobody has called yet."""
    clock = Timeline(speed=options.speed, origin=options.origin)
    if options.frozen:
        clock.freeze()
    plan = Plan(Random(options.seed).random)  # noqa: S311  # chance, not secrets
    history, metrics = History(), Metrics()
    service = Service(Registry(), clock.now, rules=options.rules, seed=options.seed)
    log = OperationsLog(service.configs)
    service.registry = Registry(
        (history, metrics, log), dynamics=options.dynamics, windows=options.windows
    )
    service.failing = _failing(plan, clock)
    return Parts(
        service=service,
        clock=clock,
        plan=plan,
        history=history,
        metrics=metrics,
        log=log,
        issuer=Issuer(options.issuer_name()),
        handle=_entry(service, clock, plan, metrics, log),
    )


def _entry(
    service: Service, clock: Timeline, plan: Plan, metrics: Metrics, log: OperationsLog
) -> Handle:
    """Return the way in: every layer around the table of methods."""
    table = Table(service, _telemetry(metrics, log))

    def count(method: str, code: Code, routing: str) -> None:
        metrics.call_ended(method, code, routing, now=clock.now())

    return Counted(Faulty(Bounded(table), plan, clock, table.resource), count)


def _telemetry(metrics: Metrics, log: OperationsLog) -> dict[str, Method]:
    """Return the methods of monitoring and logging; none without their client libraries."""
    try:
        from injector.emulator.telemetry import log_entries, time_series  # noqa: PLC0415
    except ImportError:  # the extra `monitoring` is not installed
        return {}
    return {**time_series.methods(metrics), **log_entries.methods(log)}


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
