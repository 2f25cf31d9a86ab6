"""Many tasks that a job creates for one instant: when each is due on the curve from then on."""

from datetime import UTC, datetime

from injector.operations.planning import TITLE, totals_of
from injector.operations.values import Line, Plan, PlannedStep
from injector.pacing.ramp import CHUNK, Ramp


def spread_plan(tasks: int, at: float, ramp: Ramp | None = None) -> Plan:
    """Plan by the curve that `schedule: {at}` of a manifest gives a group's tasks."""
    ramp = ramp or Ramp()
    seconds = ramp.time_of(tasks / CHUNK)
    totals = [(begins, rate * CHUNK) for begins, rate in totals_of(ramp) if begins < seconds]
    moment = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    return Plan(
        figures={
            "tasks": f"{tasks:,}, the first due at {moment}",
            "last due": f"{seconds / 60:.1f} minutes later",
            "in the manifest": f"schedule: {{at: {moment}}}",
        },
        steps=tuple(_step(ramp, begins, rate) for begins, rate in totals),
        title=TITLE,
        lines=(Line("due", tuple(totals) or ((0.0, 0.0),)),),
        seconds=seconds,
    )


def _step(ramp: Ramp, at: float, rate: float) -> PlannedStep:
    before = round(ramp.total_by(at) * CHUNK)
    figures = {"dispatches/s": round(rate, 3), "tasks before": before}
    return PlannedStep(at, f"due at {rate:,.6g}/s", figures)
