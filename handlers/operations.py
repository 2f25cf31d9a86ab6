"""What each route takes and answers: the table that the API's document is made from."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel

from handlers.models import (
    AuditList,
    AuditQuery,
    Cancel,
    Change,
    Delivered,
    GroupList,
    GroupWithDecisions,
    Health,
    JobList,
    JobShown,
    JobsQuery,
    Nothing,
    QueueList,
    Redriven,
    RejectList,
    RejectsQuery,
    ReportQuery,
    RightsShown,
    Submission,
    Summary,
    Ticked,
)
from handlers.operation_models import (
    KeptWarm,
    NewOperation,
    OperationList,
    OperationShown,
    OperationsQuery,
    PlanShown,
)
from injector.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Operation:
    """A route: the model or media type that it answers with, and what it takes.

    `statuses` are those that it succeeds with, `refusals` the others of its own, beside those
    that every route has. `steers` says that it takes If-Match, and `once` an Idempotency-Key.
    """

    tag: str
    answers: type[BaseModel] | str
    takes: type[BaseModel] | None = None
    query: type[BaseModel] | None = None
    statuses: tuple[int, ...] = (200,)
    refusals: tuple[int, ...] = ()
    steers: bool = False
    once: bool = False
    open: bool = False


def _steering(
    answers: type[BaseModel] | str, takes: type[BaseModel] | None, status: int = 200
) -> Operation:
    return Operation(
        "jobs",
        answers,
        takes,
        statuses=(status,),
        refusals=(400, 404, 409, 412, 413, 422),
        steers=True,
        once=True,
    )


def _operating() -> Operation:
    return Operation(
        "operations", OperationShown, Nothing, refusals=(400, 404, 409, 413, 422), once=True
    )


OPERATIONS: Mapping[str, Operation] = {
    "jobs.register": Operation(
        "jobs",
        JobShown,
        Submission,
        statuses=(200, 201),
        refusals=(400, 404, 409, 413, 422),
        once=True,
    ),
    "jobs.listed": Operation("jobs", JobList, query=JobsQuery, refusals=(400, 404)),
    "jobs.shown": Operation("jobs", JobShown, refusals=(404,)),
    "jobs.manifest": Operation("jobs", Manifest, refusals=(404,)),
    "jobs.rejects": Operation("jobs", RejectList, query=RejectsQuery, refusals=(400, 404)),
    "jobs.audit": Operation("jobs", AuditList, query=AuditQuery, refusals=(400, 404)),
    "steering.change": _steering(JobShown, Change),
    "steering.remove": _steering("", None, 204),
    "steering.pause": _steering(JobShown, Nothing),
    "steering.resume": _steering(JobShown, Nothing),
    "steering.cancel": _steering(JobShown, Cancel),
    "steering.retry": _steering(JobShown, Nothing),
    "steering.redrive": _steering(Redriven, Nothing),
    "reports.summary": Operation("reports", Summary, refusals=(404,)),
    "reports.report": Operation(
        "reports", "application/x-ndjson", query=ReportQuery, refusals=(400, 404)
    ),
    "groups.listed": Operation("groups", GroupList),
    "groups.shown": Operation("groups", GroupWithDecisions, refusals=(404,)),
    "groups.queues": Operation("groups", QueueList, refusals=(404,)),
    "groups.rights": Operation("groups", RightsShown, refusals=(400, 404)),
    "operating.begun": Operation(
        "operations",
        OperationShown,
        NewOperation,
        statuses=(200, 201),
        refusals=(400, 404, 409, 413, 422),
        once=True,
    ),
    "operating.planned": Operation(
        "operations", PlanShown, NewOperation, refusals=(400, 404, 409, 413, 422)
    ),
    "operating.listed": Operation(
        "operations", OperationList, query=OperationsQuery, refusals=(400,)
    ),
    "operating.shown_": Operation("operations", OperationShown, refusals=(404,)),
    "operating.paused": _operating(),
    "operating.resumed": _operating(),
    "operating.cancelled": _operating(),
    "keep_warm.arrived": Operation("machines", KeptWarm),
    "inject.deliver": Operation("machines", Delivered),
    "control.tick": Operation("machines", Ticked),
    "health.health": Operation("machines", Health, open=True),
    "health.healthz": Operation("machines", Health, open=True),
    "health.ready": Operation("machines", Health, open=True),
    "health.readyz": Operation("machines", Health, open=True),
    "health.metrics": Operation("machines", "text/plain", refusals=(429,)),
    "openapi.document": Operation("about", "application/json"),
    "openapi.docs": Operation("about", "text/html"),
    "openapi.docs_file": Operation("about", "", refusals=(404,)),
}
