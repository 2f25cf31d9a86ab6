"""CreateTask: one create in one call, as bytes."""

import asyncio
from collections.abc import Sequence
from functools import lru_cache
from urllib.parse import quote

import grpc

from injector.delivery.call import Call
from injector.delivery.connection import Line
from injector.delivery.ports import Result
from injector.delivery.verdict import CREATED, LATE, judge
from injector.wire import create_task_request

CREATE_TASK = "/google.cloud.tasks.v2.CloudTasks/CreateTask"

_CREATED = (CREATED,)
_LATE = (LATE,)


class CloudTasks:
    """Sends single creates over the process's line.

    The answer repeats the task, so its bytes are left unread: the status says everything.
    """

    def __init__(self, line: Line, *, timeout_s: float) -> None:
        self._line = line
        self._timeout_s = timeout_s
        self._now = asyncio.get_running_loop().time

    async def send(self, call: Call) -> Sequence[Result]:
        """Create the task; the deadline starts here, where the call leaves."""
        timeout = min(self._timeout_s, call.deadline - self._now())
        if timeout <= 0:
            return _LATE
        try:
            await self._line.method(CREATE_TASK)(
                create_task_request(call.creates[0]),
                timeout=timeout,
                metadata=routing("parent", call.queue),
            )
        except grpc.aio.AioRpcError as error:
            return (judge(error.code().name, error.details() or "", call.queue),)
        return _CREATED


@lru_cache(4096)
def routing(field: str, name: str) -> tuple[tuple[str, str], ...]:
    """Return the header that tells the service's front which resource a call is about."""
    return (("x-goog-request-params", f"{field}={quote(name)}"),)
