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
class Route:
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
) -> Route:
    return Route(
        "jobs",
        answers,
        takes,
        statuses=(status,),
        refusals=(400, 404, 409, 412, 413, 422),
        steers=True,
        once=True,
    )


def _operating() -> Route:
    return Route(
        "operations",
        OperationShown,
        Nothing,
        refusals=(400, 404, 409, 412, 413, 422),
        steers=True,
        once=True,
    )


ROUTES: Mapping[str, Route] = {
    "jobs.register": Route(
        "jobs",
        JobShown,
        Submission,
        statuses=(200, 201),
        refusals=(400, 404, 409, 413, 422),
        once=True,
    ),
    "jobs.listed": Route("jobs", JobList, query=JobsQuery, refusals=(400, 404)),
    "jobs.shown": Route("jobs", JobShown, refusals=(404,)),
    "jobs.manifest": Route("jobs", Manifest, refusals=(404,)),
    "jobs.rejects": Route("jobs", RejectList, query=RejectsQuery, refusals=(400, 404)),
    "jobs.audit": Route("jobs", AuditList, query=AuditQuery, refusals=(400, 404)),
    "steering.change": _steering(JobShown, Change),
    "steering.remove": _steering("", None, 204),
    "steering.pause": _steering(JobShown, Nothing),
    "steering.resume": _steering(JobShown, Nothing),
    "steering.cancel": _steering(JobShown, Cancel),
    "steering.retry": _steering(JobShown, Nothing),
    "steering.redrive": _steering(Redriven, Nothing),
    "reports.summary": Route("reports", Summary, refusals=(404,)),
    "reports.report": Route(
        "reports", "application/x-ndjson", query=ReportQuery, refusals=(400, 404)
    ),
    "groups.listed": Route("groups", GroupList),
    "groups.shown": Route("groups", GroupWithDecisions, refusals=(404,)),
    "groups.queues": Route("groups", QueueList, refusals=(404,)),
    "groups.rights": Route("groups", RightsShown, refusals=(400, 404)),
    "operating.begun": Route(
        "operations",
        OperationShown,
        NewOperation,
        statuses=(200, 201),
        refusals=(400, 404, 409, 413, 422),
        once=True,
    ),
    "operating.planned": Route(
        "operations", PlanShown, NewOperation, refusals=(400, 404, 409, 413, 422)
    ),
    "operating.listed": Route("operations", OperationList, query=OperationsQuery, refusals=(400,)),
    "operating.shown_": Route("operations", OperationShown, refusals=(404,)),
    "operating.paused": _operating(),
    "operating.resumed": _operating(),
    "operating.cancelled": _operating(),
    "keep_warm.arrived": Route("machines", KeptWarm),
    "inject.deliver": Route("machines", Delivered),
    "control.tick": Route("machines", Ticked),
    "health.health": Route("machines", Health, open=True),
    "health.healthz": Route("machines", Health, open=True),
    "health.ready": Route("machines", Health, open=True),
    "health.readyz": Route("machines", Health, open=True),
    "health.metrics": Route("machines", "text/plain", refusals=(429,)),
    "openapi.document": Route("about", "application/json"),
    "openapi.docs": Route("about", "text/html"),
    "openapi.docs_file": Route("about", "", refusals=(404,)),
}
