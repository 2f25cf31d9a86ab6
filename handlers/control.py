"""POST /control/tick: one run of the controller."""

import time
from uuid import uuid4

from flask import Blueprint, Response, jsonify

from handlers.context import drain, parts
from handlers.logs import event
from handlers.metrics import metrics
from injector.control.tick import GroupTick
from injector.errors import Retryable

control = Blueprint("control", __name__)


@control.post("/control/tick")
def tick() -> Response:
    """Tick all groups; the body, if there is one, is not read.

    What went wrong with a group is in the answer and in the log, not in the status, for the
    next tick comes anyway.
    """
    if drain().begun:
        raise Retryable("this process is ending")
    ends = time.monotonic() + parts().settings.handler_budget_s
    ticks = parts().ticker().tick(uuid4().hex, time_left=lambda: ends - time.monotonic())
    if ticks is None:
        metrics().ticks.labels("busy").inc()
        return jsonify(status="busy", groups=[])
    for each in ticks:
        _note(each)
    return jsonify(status="ticked", groups=[_as_json(each) for each in ticks])


def _note(tick: GroupTick) -> None:
    metrics().ticks.labels("fault" if tick.said.fault else "done").inc()
    metrics().fed.labels(tick.group, "no").inc(tick.fed)
    metrics().fed.labels(tick.group, "yes").inc(tick.refed)
    metrics().rate.labels(tick.group).set(tick.rate)
    for job in tick.finished:
        event("job.finished", job=job, group=tick.group)
    severity = "ERROR" if tick.said.fault else "WARNING" if tick.said.notices else "INFO"
    event("group.ticked", severity, **_as_json(tick))


def _as_json(tick: GroupTick) -> dict[str, object]:
    said = tick.said
    return {
        "group": tick.group,
        "rate": tick.rate,
        "kind": said.kind,
        "reason": said.reason,
        "notices": said.notices,
        "fault": said.fault,
        "fed": tick.fed,
        "refed": tick.refed,
        "finished": tick.finished,
        "errands": tick.errands,
    }
