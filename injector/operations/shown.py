"""An operation as it is shown: by the API, and by the command line."""

from injector.operations.stopping import rates_before
from injector.operations.values import Fields, Operation


def shown(operation: Operation) -> Fields:
    """Return what a person wants to know of the operation, as JSON holds it."""
    return {
        "id": operation.id,
        "kind": operation.kind,
        "group": operation.group,
        "spec": dict(operation.spec),
        "who": operation.who,
        "state": operation.state.value,
        "step": operation.step,
        "steps": operation.steps,
        "reason": operation.reason,
        "acts": len(operation.acts),
        "acts_done": operation.acts_done,
        "started_at": operation.started_at,
        "next_at": operation.next_at if operation.is_live else None,
        "ends_at": operation.ends_at,
        "ended_at": operation.ended_at,
        "version": operation.version,
        "rates_before": rates_before(operation),
    }
