"""POST /inject: one injector task.

The queue sends again whatever is not answered 2xx. So what can never succeed is logged and
acknowledged, with a body that says `rejected`; what may succeed later is answered 503.
"""

import time

import msgspec
from flask import Blueprint, Response
from werkzeug.exceptions import RequestEntityTooLarge

from handlers.context import drain, parts, read_body, seats
from handlers.logs import event
from handlers.metrics import count_records, count_signals, labelled, metrics, show_hedge_tokens
from injector.errors import InjectorError, Rejected, Retryable
from injector.fan_out import Answer, Verdict, fan_out
from injector.injector_task import InjectorTask, parse_injector_task
from injector.ledger.ports import Receipt

MAX_BODY = 64 * 1024
RETRY_AFTER_S = 5.0

inject = Blueprint("inject", __name__)


@inject.post("/inject")
def deliver() -> Response:
    """Fan out the chunk that the injector task names."""
    began = time.monotonic()
    try:
        with seats().seat():
            task = _task()
            answer = _fan_out(task, began=began)
    except Rejected as error:
        return _rejected(str(error))
    except InjectorError as error:
        raise _handed_back(str(error)) from error
    metrics().fan_out_seconds.observe(time.monotonic() - began)
    return _answered(task, answer)


def _task() -> InjectorTask:
    if drain().begun:
        raise Retryable("this process is ending")
    try:
        return parse_injector_task(read_body(MAX_BODY))
    except RequestEntityTooLarge as error:
        raise Rejected(f"the body has more than {MAX_BODY} bytes") from error


def _fan_out(task: InjectorTask, *, began: float) -> Answer:
    service = parts()
    ends = began + service.settings.handler_budget_s
    return fan_out(
        task,
        ledger=service.ledger,
        open_job=service.open_job,
        clock=service.clock,
        time_left=lambda: max(0.0, ends - time.monotonic()),
    )


def _answered(task: InjectorTask, answer: Answer) -> Response:
    count_signals(answer.seen)
    show_hedge_tokens(answer.group, answer.hedge_tokens)
    counts = _counts(answer.new)
    count_records(counts)
    place = {"job": task.job, "chunk": task.chunk, "generation": task.generation}
    if answer.verdict is Verdict.OPEN:
        raise _handed_back(answer.reason, **place, **counts)
    labelled(metrics().deliveries, answer.verdict.value).inc()
    as_usual = not answer.reason or answer.verdict is Verdict.RECALLED
    severity = "INFO" if as_usual else "WARNING"
    event(f"chunk.{answer.verdict}", severity, **place, **counts, why=answer.reason)
    return _answer(status=answer.verdict.value, reason=answer.reason, **counts)


def _handed_back(why: str, **fields: object) -> Retryable:
    labelled(metrics().deliveries, "retry").inc()
    event("chunk.handed_back", "WARNING", **fields, why=why)
    return Retryable(why, retry_after_s=RETRY_AFTER_S)


def _rejected(why: str) -> Response:
    labelled(metrics().deliveries, "rejected").inc()
    event("delivery.rejected", "ERROR", why=why)
    return _answer(status="rejected", reason=why)


def _answer(**said: object) -> Response:
    return Response(msgspec.json.encode(said), content_type="application/json")


def _counts(new: Receipt | None) -> dict[str, int]:
    """Count what this delivery settled."""
    if new is None:
        return {"created": 0, "existed": 0, "rejected": 0}
    masks = {"created": new.created_mask, "existed": new.existed_mask}
    return {name: mask.bit_count() for name, mask in masks.items()} | {"rejected": len(new.rejects)}
