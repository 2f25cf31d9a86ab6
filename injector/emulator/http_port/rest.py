"""The v2 JSON API, on the same state and through the same layers as gRPC."""

import json
from inspect import isawaitable

from aiohttp import web

from injector.emulator.http_port.buffering import buffer, is_buffer
from injector.emulator.http_port.transcoding import HTTP_STATUS, Call, error_json, transcode
from injector.emulator.parts import Parts
from injector.emulator.rpc import Code, Dropped, RpcError


async def answer(parts: Parts, request: web.Request) -> web.StreamResponse:
    """Answer a REST request, or with the error that gRPC would give."""
    try:
        if is_buffer(request):
            call = await buffer(parts, request)
            return web.json_response({"task": call.json(await _ask(parts, call))})
        call = transcode(request.method, request.path, request.query, await _body(request))
        return web.json_response(call.json(await _ask(parts, call)))
    except RpcError as error:
        return web.json_response(error_json(error), status=HTTP_STATUS.get(error.code, 500))
    except Dropped:
        if request.transport is not None:
            request.transport.abort()
        raise web.HTTPServiceUnavailable from None


async def _ask(parts: Parts, call: Call) -> bytes:
    answered = parts.handle(call.method, call.request, {})
    return await answered if isawaitable(answered) else answered


async def _body(request: web.Request) -> object:
    raw = await request.read()
    if not raw:
        return {}
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise RpcError(Code.INVALID_ARGUMENT, f"Invalid JSON payload received. {error}") from error
