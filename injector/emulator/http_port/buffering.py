"""BufferTask: the request's own body becomes a task, and the queue's HTTP target the rest.

The method is in the JSON API only, of v2 and v2beta3, not in v2's gRPC.
"""

import re

from aiohttp import web

from injector.emulator.api import messages
from injector.emulator.api.methods import TASKS
from injector.emulator.api.refusals import invalid
from injector.emulator.dispatch.overrides import override_url
from injector.emulator.http_port.transcoding import Call
from injector.emulator.parts import Parts

_path = re.compile(
    r"/v2(?:beta3)?/(projects/[^/]+/locations/[^/]+/queues/[^/]+)/tasks(?:/([^/]+))?:buffer"
)
_SCHEMES = {1: "http", 2: "https"}
_POST = 1
_HOP_BY_HOP = frozenset({"authorization", "connection", "accept", "accept-encoding", "origin"})


def is_buffer(request: web.Request) -> bool:
    """Tell whether a request is a BufferTask."""
    return request.method == "POST" and _path.fullmatch(request.path) is not None


async def buffer(parts: Parts, request: web.Request) -> Call:
    """Return the CreateTask that a BufferTask stands for; raises RpcError."""
    match = _path.fullmatch(request.path)
    if match is None:
        raise invalid("The path is not that of a BufferTask.")
    queue, task_id = match[1], match[2]
    parts.service.queue(queue)
    create = messages.CreateTaskRequest(parent=queue)
    if task_id:
        create.task.name = f"{queue}/tasks/{task_id}"
    _write(create.task.http_request, parts.service.configs[queue].http_target, request)
    create.task.http_request.body = await request.read()
    return Call(TASKS + "CreateTask", create.SerializeToString(), messages.Task, integers=False)


def _write(into: messages.HttpRequest, target: messages.HttpTarget, request: web.Request) -> None:
    uri = target.uri_override
    if not uri.host:
        raise invalid("BufferTask needs a queue whose HTTP target has a host.")
    into.url = override_url(f"{_SCHEMES.get(uri.scheme, 'https')}://{uri.host}", uri)
    into.http_method = target.http_method or _POST
    for name, value in request.headers.items():
        if name.lower() not in _HOP_BY_HOP:
            into.headers[name] = value
    if "Content-Type" not in request.headers:
        into.headers["Content-Type"] = "application/json"
