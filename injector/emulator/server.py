"""The emulator's process: everything put together, from start to stop."""

import asyncio
import gc
import logging
import os
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

from injector.emulator.assembly import assemble
from injector.emulator.dispatch.delivery import Delivery
from injector.emulator.dispatch.dispatcher import Deliver, Dispatcher
from injector.emulator.dispatch.recorded import Recorded
from injector.emulator.dispatch.requests import Requests
from injector.emulator.http_port.serving import serve_http
from injector.emulator.options import Options
from injector.emulator.parts import Parts
from injector.emulator.startup import open_queues
from injector.emulator.transport import event_loop
from injector.emulator.transport.dispatch_client import DispatchClient
from injector.emulator.transport.ports import Server
from injector.emulator.transport.serve import serve
from injector.errors import Misused

_log = logging.getLogger(__name__)
_HOUSEKEEPING_S = 10.0
_LEAST_HOUSEKEEPING_S = 0.5
_HALF_A_MINUTE_S = 30.0
_GRACE_S = 1.0
_OBJECTS_A_LOOK = 20_000


@dataclass(frozen=True, slots=True)
class Running:
    """An emulator at work, and where it listens; `control_port` is None if there is none."""

    port: int
    control_port: int | None
    parts: Parts


def run(options: Options, tell: Callable[[Running], None]) -> None:
    """Run an emulator until the process is told to stop; tell of it once it is up."""
    event_loop.run(_run(options, tell))


@asynccontextmanager
async def running(options: Options) -> AsyncIterator[Running]:
    """Run an emulator on this event loop."""
    async with AsyncExitStack() as stack:
        parts = assemble(options)
        if parts.state_file is not None:
            await stack.enter_async_context(parts.state_file.writing())
        open_queues(parts.service, options)
        _open_topics(parts, options)
        await stack.enter_async_context(_dispatching(parts, options))
        with _listening(options.host, options.control_port):
            control_port = await stack.enter_async_context(serve_http(parts, options))
        with _listening(options.host, options.port):
            server = await _serve(parts, options)
        stack.push_async_callback(server.stop, grace_s=_GRACE_S)
        yield Running(server.port, control_port, parts)


@contextmanager
def _listening(host: str, port: int | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Misused(f"{host}:{port}: cannot listen: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    """Return the system's words; asyncio's repeat the address; others' numbers are no errno."""
    if error.errno is None or isinstance(error, ssl.SSLError | socket.gaierror):
        return error.strerror or str(error)
    return os.strerror(error.errno)


async def _serve(parts: Parts, options: Options) -> Server:
    return await serve(
        parts.handle,
        host=options.host,
        port=options.port,
        tls=options.tls,
        transport=options.transport,
        streams=parts.pubsub.streams if parts.pubsub else {},
    )


def _open_topics(parts: Parts, options: Options) -> None:
    if parts.pubsub:
        from injector.emulator.pubsub.startup import open_topics  # noqa: PLC0415  # an extra

        open_topics(parts.pubsub.service, options)
    elif options.topics or options.subscriptions:
        raise Misused("topics need the extra `pubsub`: pip install 'cloud-tasks-injector[pubsub]'")


@asynccontextmanager
async def _dispatching(parts: Parts, options: Options) -> AsyncIterator[None]:
    client = DispatchClient(timers=parts.clock)
    delivery: Deliver = Delivery(client, parts.plan, parts.clock)
    if parts.state_file is not None:
        delivery = Recorded(delivery, parts.state_file)
    requests = Requests(parts.issuer, options.app_engine)
    dispatcher = Dispatcher(parts.service, parts.clock, delivery, requests)
    parts.service.wake, parts.service.start = dispatcher.wake, dispatcher.start
    keeper = asyncio.create_task(_keep_house(parts))
    dispatcher.wake()
    try:
        yield
    finally:
        keeper.cancel()
        await dispatcher.stop()
        client.close()


async def _run(options: Options, tell: Callable[[Running], None]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with running(options) as emulator:
        _log.info("emulator.started port=%s control_port=%s", emulator.port, emulator.control_port)
        tell(emulator)
        sparing = asyncio.create_task(spare_the_collector())
        await stopped.wait()
        sparing.cancel()


async def _keep_house(parts: Parts) -> None:
    """Tidy up now and then, and whenever the clock was changed by hand.

    That is after the dispatcher's look, which lets go what fell due before it outlived its time.
    """
    loop = asyncio.get_running_loop()

    def tidy_up_soon() -> None:
        loop.call_soon(_tidy_up, parts)

    parts.clock.watch(tidy_up_soon)
    while True:
        _tidy_up(parts)
        await asyncio.sleep(_measuring_span_s(parts.clock.speed))


def _tidy_up(parts: Parts) -> None:
    """Drop what has expired, and measure depths."""
    now, registry = parts.clock.now(), parts.service.registry
    registry.expire(now=now)
    for queue in registry.queues.values():
        parts.metrics.measure_depth(queue, now=now)
    parts.metrics.gather(now=now)
    if parts.pubsub:
        parts.pubsub.keep_house()


def _measuring_span_s(speed: float) -> float:
    """Return after how many real seconds to measure again: a fast clock's minutes are short."""
    if not speed:
        return _HOUSEKEEPING_S
    return min(_HOUSEKEEPING_S, max(_LEAST_HOUSEKEEPING_S, _HALF_A_MINUTE_S / speed))


async def spare_the_collector() -> None:
    """Keep the collector off waiting tasks: a million of them hold no cycles.

    Frozen, they cost a collection nothing; they are freed as before once they are over. New
    ones come by the ten thousand, too many to look at every 700.
    """
    gc.set_threshold(_OBJECTS_A_LOOK, 20, 100)
    while True:
        gc.freeze()
        await asyncio.sleep(_HOUSEKEEPING_S)
