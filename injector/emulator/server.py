"""The emulator's process: everything put together, from start to stop."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from injector.emulator.api.service import Service
from injector.emulator.dispatch.dispatcher import Dispatcher
from injector.emulator.dispatch.requests import Requests
from injector.emulator.dispatch.tokens import Issuer
from injector.emulator.edge import Edge
from injector.emulator.options import Options
from injector.emulator.startup import open_queues
from injector.emulator.state.registry import Registry
from injector.emulator.timeline import Timeline
from injector.emulator.transport.dispatch_client import DispatchClient
from injector.emulator.transport.serve import serve

_HOUSEKEEPING_S = 10.0
_GRACE_S = 1.0


@dataclass(frozen=True, slots=True)
class Running:
    """An emulator at work."""

    port: int
    service: Service
    clock: Timeline
    edge: Edge


def run(options: Options) -> None:
    """Run an emulator until the process is told to stop."""
    asyncio.run(_run(options))


@asynccontextmanager
async def running(options: Options) -> AsyncIterator[Running]:
    """Run an emulator on this event loop."""
    clock = Timeline(speed=options.speed, origin=options.origin)
    if options.frozen:
        clock.freeze()
    registry = Registry(dynamics=options.dynamics, windows=options.windows)
    service = Service(registry, clock.now, rules=options.rules, seed=options.seed)
    open_queues(service, options)
    client = DispatchClient(timers=clock)
    requests = Requests(Issuer(options.issuer), options.app_engine)
    dispatcher = Dispatcher(service, clock, client, requests)
    service.wake, service.start = dispatcher.wake, dispatcher.start
    edge = Edge(service)
    server = await serve(
        edge.handle, host=options.host, port=options.port, transport=options.transport
    )
    keeper = asyncio.create_task(_keep_house(service))
    dispatcher.wake()
    try:
        yield Running(server.port, service, clock, edge)
    finally:
        keeper.cancel()
        await server.stop(grace_s=_GRACE_S)
        await dispatcher.stop()
        client.close()


async def _run(options: Options) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running(options):
        await stopped.wait()


async def _keep_house(service: Service) -> None:
    """Drop what has expired, and keep the collector from walking over waiting tasks.

    A million tasks hold no cycles; frozen, they cost a collection nothing.
    """
    while True:
        service.registry.expire(now=service.now())
        gc.freeze()
        await asyncio.sleep(_HOUSEKEEPING_S)
