"""Calls over a channel, and servers that do with a connection what a test says."""

import asyncio
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from injector.delivery.address import Address
from injector.delivery.channel import CallFailed, Channel
from injector.delivery.cloud_tasks import CREATE_TASK
from injector.delivery.ports import Create
from injector.event_loops import loops
from injector.wire import create_task_request
from tests.scripted_service import looping

QUEUE = "projects/p/locations/l/queues/q"

Opening = Callable[[Address], Channel]


def request(number: int = 0, body: bytes = b"") -> bytes:
    return create_task_request(Create(QUEUE, f"t{number}", "http://t.test/", body))


async def ask(channel: Channel, message: bytes, *, timeout_s: float = 20, token=()) -> bytes:
    about = (("x-goog-request-params", "parent=q"),)
    return await channel.invoke(CREATE_TASK, message, timeout_s=timeout_s, about=about, token=token)


async def until(happens: Callable[[], bool]) -> None:
    while not happens():  # noqa: ASYNC110  # it happens on another thread
        await asyncio.sleep(0.01)


async def code_of(channel: Channel, **options: float) -> str:
    try:
        await ask(channel, request(), **options)
    except CallFailed as failed:
        return failed.code
    return "OK"


def run(work) -> object:
    with asyncio.Runner(loop_factory=loops.new_event_loop) as runner:
        return runner.run(work)


@contextmanager
def listening(serve_one, tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, list[int]]]:
    """Serve connections on a port by a coroutine; give the address, and a list of who came."""
    came: list[int] = []

    async def serve(reader, writer) -> None:
        came.append(1)
        with suppress(asyncio.CancelledError):
            await serve_one(reader, writer)
        writer.close()

    async def start() -> asyncio.Server:
        return await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)

    async def stop(server: asyncio.Server) -> None:
        server.close()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    with looping() as loop:
        server = asyncio.run_coroutine_threadsafe(start(), loop).result()
        try:
            yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", came
        finally:
            asyncio.run_coroutine_threadsafe(stop(server), loop).result()
