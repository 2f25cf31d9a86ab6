"""Control for tests: clock, faults, reset, waiting, and what became of tasks."""

import asyncio
from dataclasses import asdict
from math import inf, isfinite
from typing import Annotated, Literal, TypeVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from injector.emulator.api import pages
from injector.emulator.faults.reading import read_plan, show_receipt
from injector.emulator.http_port.sight import queue_rows
from injector.emulator.parts import Parts
from injector.emulator.resetting import reset
from injector.emulator.rpc import RpcError
from injector.emulator.timeline import LATEST_S, Timeline
from injector.errors import Misused, NotFound

_Form = TypeVar("_Form", bound=BaseModel)
_POLL_S = 0.02
_LONGEST_WAIT_S = 3600.0
_MOST_LISTED = 1000


class ClockForm(BaseModel):
    """How the clock runs: by the machine's time `speed` times, or not at all."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["running", "frozen"] = "running"
    speed: Annotated[float, Field(gt=0, le=1_000_000)] = 1.0


class AdvanceForm(BaseModel):
    """How far the clock jumps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seconds: Annotated[float, Field(ge=0, le=100 * 366 * 86400.0)]


async def show_clock(parts: Parts, request: web.Request) -> web.Response:
    """Show the time and how it runs."""
    del request
    return web.json_response(_clock(parts.clock))


async def set_clock(parts: Parts, request: web.Request) -> web.Response:
    """Freeze the clock, or let it run at a speed."""
    form = await _read(request, ClockForm)
    if form.mode == "frozen":
        parts.clock.freeze()
    else:
        parts.clock.run(speed=form.speed)
    return web.json_response(_clock(parts.clock))


async def advance_clock(parts: Parts, request: web.Request) -> web.Response:
    """Let the clock jump ahead; what falls due by that leaves at once."""
    form = await _read(request, AdvanceForm)
    if parts.clock.now() + form.seconds > LATEST_S:
        raise Misused(f"seconds {form.seconds}: would go beyond the year 9000")
    parts.clock.advance(form.seconds)
    return web.json_response(_clock(parts.clock))


async def set_faults(parts: Parts, request: web.Request) -> web.Response:
    """Put a plan of faults in force, in place of any other."""
    parts.plan.set(read_plan(await request.read()))
    return web.json_response(show_receipt(parts.plan))


async def show_faults(parts: Parts, request: web.Request) -> web.Response:
    """Show the receipt: what was done to which call."""
    del request
    return web.json_response(show_receipt(parts.plan))


async def drop_faults(parts: Parts, request: web.Request) -> web.Response:
    """End all faults; the answer is the last receipt."""
    del request
    receipt = show_receipt(parts.plan)
    parts.plan.set([])
    return web.json_response(receipt)


async def reset_all(parts: Parts, request: web.Request) -> web.Response:
    """Forget tasks, reservations, operations and records; queues too, unless they are kept."""
    reset(parts, keep_queues=request.query.get("keep_queues", "") == "true")
    return web.json_response({})


async def wait_until_drained(parts: Parts, request: web.Request) -> web.Response:
    """Wait until no task is left, in one queue or in all; 504 after `timeout` real seconds."""
    queue = request.query.get("queue", "")
    left = min(_seconds(request.query.get("timeout", "30")), _LONGEST_WAIT_S)
    while depth := _depth(parts, queue):
        if left <= 0:
            return web.json_response({"depth": depth}, status=504)
        await asyncio.sleep(_POLL_S)
        left -= _POLL_S
    return web.json_response({"depth": 0})


async def show_queues(parts: Parts, request: web.Request) -> web.Response:
    """List the queues with their depths, rates and attempts in flight."""
    del request
    return web.json_response({"queues": [asdict(row) for row in queue_rows(parts)]})


async def show_topics(parts: Parts, request: web.Request) -> web.Response:
    """List the topics with what was published, and their subscriptions."""
    del request
    rows = parts.pubsub.rows() if parts.pubsub else []
    return web.json_response({"topics": [asdict(row) for row in rows]})


async def show_task(parts: Parts, request: web.Request) -> web.Response:
    """Show a task's attempts, and its end if it is over."""
    name = request.match_info["name"]
    queue_name, _, task_id = name.partition("/tasks/")
    queue = parts.service.registry.queues.get(queue_name)
    waiting = queue is not None and queue.names.task(task_id) is not None
    end = None if waiting else parts.history.end_of(name)
    if not waiting and end is None:
        raise NotFound(f"{name}: no such task, or it ended too long ago")
    return web.json_response(
        {
            "name": name,
            "state": "waiting" if end is None else end.reason,
            "ended_at": None if end is None else end.ended_at,
            "attempts": [asdict(tried) for tried in parts.history.attempts(name)],
        }
    )


async def show_finished(parts: Parts, request: web.Request) -> web.Response:
    """List the tasks that ended last, newest first, page by page."""
    asked, queue, now = request.query, request.query.get("queue", ""), parts.clock.now()
    limit = pages.size(int(_seconds(asked.get("limit", "100"))), _MOST_LISTED)
    try:
        before = pages.read(asked.get("page_token", ""), scope=queue, now=now)
    except RpcError as error:
        raise Misused(error.message) from error
    found, following = parts.history.page(
        queue, limit=limit, before=int(before) if before else None
    )
    token = "" if following is None else pages.write(str(following), scope=queue, now=now)
    return web.json_response({"tasks": [asdict(task) for task in found], "next_page_token": token})


def _depth(parts: Parts, name: str) -> int:
    queues = parts.service.registry.queues
    if name and name not in queues:
        raise NotFound(f"{name}: no such queue")
    return queues[name].depth if name else sum(queue.depth for queue in queues.values())


def _clock(clock: Timeline) -> dict[str, float]:
    return {"now": clock.now(), "speed": clock.speed}


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = inf
    if not isfinite(seconds):
        raise Misused(f"{text[:40]!r}: needs a number")
    return max(0.0, seconds)


async def _read(request: web.Request, form: type[_Form]) -> _Form:
    try:
        return form.model_validate_json(await request.read() or b"{}")
    except ValidationError as error:
        problems = error.errors(include_url=False)
        what = "; ".join(f"{'.'.join(map(str, p['loc']))}: {p['msg']}" for p in problems)
        raise Misused(what) from error


ROUTES = (
    ("GET", "/control/clock", show_clock),
    ("PUT", "/control/clock", set_clock),
    ("POST", "/control/clock/advance", advance_clock),
    ("GET", "/control/faults", show_faults),
    ("PUT", "/control/faults", set_faults),
    ("DELETE", "/control/faults", drop_faults),
    ("POST", "/control/reset", reset_all),
    ("GET", "/control/drained", wait_until_drained),
    ("GET", "/control/queues", show_queues),
    ("GET", "/control/topics", show_topics),
    ("GET", "/control/finished", show_finished),
    ("GET", "/control/tasks/{name:.+}", show_task),
)
