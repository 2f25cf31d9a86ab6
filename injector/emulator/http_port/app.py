"""The web application of the HTTP port: which address is answered by what."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from aiohttp import web

from injector.emulator.http_port import control, pages, rest
from injector.emulator.parts import Parts
from injector.emulator.transport.ports import MAX_MESSAGE_BYTES
from injector.errors import Misused, NotFound

PARTS = web.AppKey("parts", Parts)
HOST = web.AppKey("host", str)
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
Answer = Callable[[Parts, web.Request], Awaitable[web.StreamResponse]]


def application(parts: Parts, host: str) -> web.Application:
    """Return the application that listens on an address."""
    app = web.Application(client_max_size=MAX_MESSAGE_BYTES, middlewares=[_refuse, _explain])
    app[PARTS], app[HOST] = parts, host
    for verb, path, answer in (*pages.ROUTES, *control.ROUTES):
        app.router.add_route(verb, path, _bound(answer))
    for version in ("v2", "v2beta3"):
        app.router.add_route("*", f"/{version}/{{rest:.*}}", _bound(rest.answer))
    return app


def _bound(answer: Answer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def bound(request: web.Request) -> web.StreamResponse:
        return await answer(request.app[PARTS], request)

    return bound


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def _refuse(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuse what a web page from elsewhere sends: it must not control the emulator.

    On loopback the host has to be a name of loopback, or a page could give its own name our
    address (DNS rebinding).
    """
    origin = request.headers.get("Origin")
    if origin is not None and urlsplit(origin).netloc != request.host:
        raise web.HTTPForbidden(text="Requests from other origins are not allowed.")
    named = urlsplit(f"//{request.host}").hostname
    if request.app[HOST] in _LOOPBACK and named not in _LOOPBACK:
        raise web.HTTPForbidden(text="Requests under other names are not allowed.")
    return await handler(request)


@web.middleware
async def _explain(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn a person's mistake into an answer that explains it (RFC 9457)."""
    try:
        return await handler(request)
    except Misused as error:
        status = 404 if isinstance(error, NotFound) else 400
        title = "Not found" if isinstance(error, NotFound) else "Bad request"
        problem = {"type": "about:blank", "title": title, "status": status, "detail": str(error)}
        return web.json_response(problem, status=status, content_type="application/problem+json")
