"""Faults as JSON: what the control port takes and shows."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from injector.emulator.faults.latency import Latency
from injector.emulator.faults.plan import Effect, Fault, Plan
from injector.emulator.rpc import Code
from injector.errors import Misused

Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, le=86400)]


class LatencyForm(BaseModel):
    """A distribution of waits; one of its kinds (see Latency)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    fixed_s: Seconds = 0.0
    uniform_s: tuple[Seconds, Seconds] | None = None
    mean_s: Seconds = 0.0
    median_s: Seconds = 0.0
    sigma: Annotated[float, Field(ge=0, le=10)] = 1.0
    quantiles: tuple[tuple[Share, Seconds], ...] = ()


class FaultForm(BaseModel):
    """A fault as it is posted (see Fault); a topic or a subscription stands for a queue."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = ""
    effect: Effect
    methods: tuple[str, ...] = ("*",)
    queue: str = Field("*", validation_alias=AliasChoices("queue", "topic", "subscription"))
    rate: Share = 1.0
    after: Annotated[int, Field(ge=0)] = 0
    every: Annotated[int, Field(ge=1)] = 1
    times: Annotated[int, Field(ge=0)] | None = None
    code: Literal[tuple(code.name for code in Code if code)] = "UNAVAILABLE"  # type: ignore[valid-type]
    message: str = ""
    latency: LatencyForm = LatencyForm()
    done: Share = 0.0


class PlanForm(BaseModel):
    """A whole plan as it is posted."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    faults: tuple[FaultForm, ...]


def read_plan(text: str | bytes) -> list[Fault]:
    """Return the faults of a plan; raises Misused with what is wrong and where."""
    try:
        form = PlanForm.model_validate_json(text)
    except ValidationError as error:
        raise Misused(_summary(error)) from error
    return [_fault(number, fault) for number, fault in enumerate(form.faults)]


def show_receipt(plan: Plan) -> dict[str, object]:
    """Return what a plan has done, for people and tests."""
    return {
        "faults": [
            {"id": fault.id, "effect": fault.effect.value, "met": met, "applied": applied}
            for fault, met, applied in plan.counts()
        ],
        "calls": list(_calls(plan)),
    }


def _calls(plan: Plan) -> Iterator[dict[str, object]]:
    for done in plan.receipt:
        yield {
            "at": done.at,
            "fault": done.fault,
            "effect": done.effect.value,
            "method": done.method,
            "resource": done.resource,
            "delay_s": done.delay_s,
        }


def _fault(number: int, form: FaultForm) -> Fault:
    given = form.model_dump(exclude={"id", "code", "latency"})
    latency = Latency(**form.latency.model_dump())
    return Fault(id=form.id or f"fault-{number}", code=Code[form.code], latency=latency, **given)


def _summary(error: ValidationError) -> str:
    problems = error.errors(include_url=False)
    return "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems)
