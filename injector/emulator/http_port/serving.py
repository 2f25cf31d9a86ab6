"""The HTTP port from start to stop."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from injector.emulator.http_port.app import application
from injector.emulator.options import Options
from injector.emulator.parts import Parts

_GRACE_S = 1.0


@asynccontextmanager
async def serve_http(parts: Parts, options: Options) -> AsyncIterator[int | None]:
    """Serve the HTTP port, if there is to be one, and yield its number."""
    if options.control_port is None:
        yield None
        return
    app = application(parts, options.host)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_GRACE_S)
    await runner.setup()
    site = web.TCPSite(runner, options.host, options.control_port)
    await site.start()
    port = runner.addresses[0][1]
    if not options.issuer:
        parts.issuer.name = f"http://{options.host}:{port}"
    try:
        yield port
    finally:
        await runner.cleanup()
